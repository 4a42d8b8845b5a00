import { Opener } from "../../base/lazy.ts";
import { acpName, agentProblem } from "../../models/acp_entry.ts";
import { feature } from "../../verbs/feature.ts";
import { ACP } from "./config.ts";

/** ACP agents answer sessions with a model `acp/<name>`. */
export const acpAgents = feature({
  name: "acp_agents",
  sections: [ACP],
  open(host) {
    const { config, env } = host;
    const agents = new Opener(async () => {
      const { openAgents } = await import("./open.ts");
      return await openAgents(host);
    });
    return {
      services: {},
      agents: {
        answers: (model_id) => acpName(model_id) !== undefined,
        problem: (name) => agentProblem(name, config().of(ACP), env),
        runTurn: async (session, turn) => await (await agents.get()).runTurn(session, turn),
      },
      // The agent started in the old directory.
      onMoved: (id) => void agents.opened?.then((it) => it.sessionEnded(id)),
      beforeEnd: async ({ id }) => await (await agents.opened)?.sessionEnded(id),
      onEnded: (id) => void agents.opened?.then((it) => it.sessionEnded(id)),
      stop: () => agents.opened?.then((it) => it.close()),
    };
  },
});
