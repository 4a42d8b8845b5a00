import { feature } from "../../verbs/feature.ts";

/** The plan of a session: what its model says it will do, and how far it is. */
export const plan = feature({
  name: "plan",
  open: ({ hub }) => ({
    services: {},
    async tools() {
      const { planTool } = await import("./tool.ts");
      return [planTool((id) => hub.get(id))];
    },
  }),
});
