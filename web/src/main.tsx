import { render } from "preact";
import { App, AppContext } from "./app.ts";
import { Shell } from "./shell.tsx";
import { Clock, ClockContext } from "./ui/time.tsx";

const app = new App();
app.start();
render(
  <AppContext.Provider value={app}>
    <ClockContext.Provider value={new Clock()}>
      <Shell />
    </ClockContext.Provider>
  </AppContext.Provider>,
  document.getElementById("app")!,
);
