/**
 * Shows the app. What is loaded later imports this module, so that all that the first view takes is
 * one file: cut into pieces that others share, it was shown later, for each request takes its time.
 */
import { render } from "preact";
import { App, AppContext } from "./app.ts";
import { Shell } from "./shell.tsx";
import { Clock, ClockContext } from "./ui/time.tsx";
import { routeOf } from "./view.tsx";
import { keepAboveKeyboard } from "./keyboard.ts";
import { keepCompositions } from "./ui/keys.ts";
import { keepVisible } from "./visible.ts";
// Small, and in several of the files that come later: here, it needs none of its own.
import "./rpc/use_live.ts";
import "./ui/use_media.ts";

/** How long the first paint waits for what it is to show, in milliseconds. */
const FIRST_PAINT_WAIT_MS = 150;

async function begin(): Promise<void> {
  keepVisible();
  keepAboveKeyboard();
  keepCompositions();
  const app = new App();
  const { route } = routeOf(app.router.path.peek());
  // Painted with its content at once, a page shows it sooner than when it is painted without it first.
  await Promise.race([
    Promise.allSettled([app.start(), route.load()]),
    new Promise((resolve) => setTimeout(resolve, FIRST_PAINT_WAIT_MS)),
  ]);
  render(
    <AppContext.Provider value={app}>
      <ClockContext.Provider value={new Clock()}>
        <Shell />
      </ClockContext.Provider>
    </AppContext.Provider>,
    document.getElementById("app")!,
  );
  // What it does can wait, and some pages may have none, as in private windows.
  await navigator.serviceWorker?.register("/worker.js").catch(() => {});
}

// Not awaited here: what is loaded later imports this module.
begin();
