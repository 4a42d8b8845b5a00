import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { SUBAGENTS } from "./config.ts";

/** Lets a session's model give tasks to subagents. */
export const subagents = feature({
  name: "subagents",
  sections: [SUBAGENTS],
  open({ config, hub }) {
    const places = new Opener(async () => new (await import("./places.ts")).Places());
    return {
      services: {},
      async tools() {
        const { agentTool } = await import("./tool.ts");
        return [agentTool({
          config: () => config().of(SUBAGENTS),
          turnOf: async (id) => (await hub.get(id)).state.turn?.turn_id ?? "",
          places: await places.get(),
        })];
      },
      onEnded: (id) => void places.opened?.then((it) => it.forget(id)),
    };
  },
});
