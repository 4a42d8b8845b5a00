import { Opener } from "../../base/lazy.ts";
import { exists } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import type { Bus, BusEntry } from "./bus.ts";
import { DAEMON_SCOPE } from "./record.ts";
import { busVerbs } from "./verbs.ts";

export const bus = feature({
  name: "bus",
  verbs: busVerbs,
  open({ paths, log, hub }) {
    let loaded: Bus | undefined;
    /** Events before the bus was loaded. */
    const early: [scope: string, events: readonly BusEntry[]][] = [];
    const opened = new Opener(async () => {
      const { Bus } = await import("./bus.ts");
      loaded = new Bus({ dir: paths.bus, log, journals: () => hub.journals() });
      for (const record of early.splice(0)) loaded.record(...record);
      return loaded;
    });
    const record = (scope: string, events: readonly BusEntry[]) => {
      if (loaded !== undefined) return loaded.record(scope, events);
      early.push([scope, events]);
      void opened.get();
    };
    return {
      services: { bus: () => opened.get() },
      onEvents: (session, events) => record(session.id, events),
      onDaemonEvent: (type, data) =>
        record(DAEMON_SCOPE, [{
          type,
          at: new Date().toISOString(),
          data_json: JSON.stringify(data),
        }]),
      async onDeleted(id) {
        if (exists(paths.bus)) await (await opened.get()).forget(id);
      },
      stop: () => opened.opened?.then((it) => it.close()),
    };
  },
});
