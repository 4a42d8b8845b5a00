import { feature } from "../../verbs/feature.ts";
import { verifyVerbs } from "./verbs.ts";

export const verify = feature({
  name: "verify",
  verbs: verifyVerbs,
  open: (
    { hub, paths: { home }, sandbox, scope, space, granted, config, wayOut, watchWrites },
  ) => ({
    services: { hub, home, sandbox, scope, granted, watchWrites },
    async tools() {
      const { verifyTool } = await import("./tool.ts");
      const network = () => config().sandbox.network === true;
      return [verifyTool({ sandbox, space, granted, network, wayOut })];
    },
  }),
});
