import { feature } from "../../verbs/feature.ts";
import { verifyVerbs } from "./verbs.ts";

export const verify = feature({
  name: "verify",
  verbs: verifyVerbs,
  open: (
    { hub, paths: { home }, sandbox, scope, space, granted, networkOf, wayOut, watchWrites },
  ) => ({
    services: { hub, home, sandbox, scope, granted, networkOf, watchWrites },
    async tools() {
      const { verifyTool } = await import("./tool.ts");
      const network = async (session_id: string) =>
        networkOf((await hub.get(session_id)).state) === true;
      return [verifyTool({ sandbox, space, granted, network, wayOut })];
    },
  }),
});
