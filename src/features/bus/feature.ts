import { feature } from "../../verbs/feature.ts";
import { Bus, DAEMON_SCOPE } from "./bus.ts";
import { busVerbs } from "./verbs.ts";

export const bus = feature({
  name: "bus",
  verbs: busVerbs,
  open({ paths, log, hub }) {
    const bus = new Bus({ dir: paths.bus, log, journals: () => hub.journals() });
    return {
      services: { bus },
      onEvents: (session, events) => bus.record(session.id, events),
      onDaemonEvent: (type, data) =>
        bus.record(DAEMON_SCOPE, [{
          type,
          at: new Date().toISOString(),
          data_json: JSON.stringify(data),
        }]),
      stop: () => bus.close(),
    };
  },
});
