import { Opener } from "../../base/lazy.ts";
import { exists } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import { CORTEX } from "./config.ts";
import { memoryVerbs } from "./query_verb.ts";
import { cortexVerbs } from "./verbs.ts";

export const memory = feature({
  name: "memory",
  sections: [CORTEX],
  verbs: [...memoryVerbs, ...cortexVerbs],
  migrations: async () => (await import("./migrations.ts")).MIGRATIONS,
  open(host) {
    const { hub, paths, models } = host;
    const opened = new Opener(async () => {
      const { makeCortex } = await import("./open.ts");
      return makeCortex(host);
    });
    const cortex = async () => (await opened.get()).cortex;
    return {
      services: { hub, cortex },
      async tools() {
        const { memoryTools } = await import("./tools.ts");
        return memoryTools({
          remember: async (...call) => (await opened.get()).tools.remember(...call),
          recall: async (...call) => (await opened.get()).tools.recall(...call),
        });
      },
      async beforeTurn(session, turn) {
        // A built-in model does not read it, or nothing was ever remembered.
        if (models().isBuiltin(session.state.model) || !exists(paths.state_db)) return;
        await (await cortex()).recallForTurn(session, turn);
      },
      onEvents(session, events) {
        const whole = events.some(({ type, data }) =>
          type === "turn.completed" && data.stop_reason === "ok"
        );
        if (!whole || !models().answersRequests(session.state.model)) return;
        cortex().then((it) => it.turnCompleted(session));
      },
      onRest: () => void opened.opened?.then(({ cortex }) => cortex.rest()),
      onEnded: (id) => void opened.opened?.then(({ cortex }) => cortex.sessionEnded(id)),
      async onDeleted(id) {
        if (exists(paths.state_db)) await (await cortex()).sessionDeleted(id);
      },
      quiesce: () => opened.opened?.then(({ cortex }) => cortex.stopLobes()),
      stop: () => opened.opened?.then(({ cortex }) => cortex.close()),
    };
  },
});
