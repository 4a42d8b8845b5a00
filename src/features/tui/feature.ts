import { Opener } from "../../base/lazy.ts";
import type { Hub } from "../../session/hub.ts";
import type { Dispatcher } from "../../verbs/define.ts";
import { feature } from "../../verbs/feature.ts";
import { tuiVerbs } from "./verbs.ts";

interface Host {
  readonly hub: Hub;
  /** The dispatcher of all verbs, once they are bound. */
  dispatcher(): Dispatcher;
  /** Gives memory back if nothing works. */
  trimAtRest(): void;
}

export const tui = feature("the terminal UI", tuiVerbs, ({ hub, dispatcher, trimAtRest }: Host) => {
  const host = new Opener(async () => {
    const { openTuiHost } = await import("./open.ts");
    return openTuiHost(dispatcher(), trimAtRest);
  });
  return {
    services: { hub, tui: () => host.get() },
    stop: () => host.opened?.then((host) => host.close()),
  };
});
