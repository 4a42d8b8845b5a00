import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { TERMINAL } from "./config.ts";
import { tuiVerbs } from "./verbs.ts";

export const tui = feature({
  name: "tui",
  verbs: tuiVerbs,
  sections: [TERMINAL],
  open({ hub, dispatcher, trimAtRest }) {
    const host = new Opener(async () => {
      const { openTuiHost } = await import("./open.ts");
      return openTuiHost(dispatcher(), trimAtRest);
    });
    return {
      services: { hub, tui: () => host.get() },
      stop: () => host.opened?.then((host) => host.close()),
    };
  },
});
