import { feature } from "../../verbs/feature.ts";
import { hire } from "../hire/feature.ts";
import { daemonVerbs } from "./verbs.ts";

/** The daemon itself. */
export const control = feature({
  name: "control",
  verbs: daemonVerbs,
  open(host) {
    const { config, env, builtin_tools, discovery, ports } = host;
    return {
      services: {
        ...host,
        prefix_tools: async () => (await builtin_tools()).map(({ spec }) => spec),
        start_dir: () => config().default_workdir ?? env("HOME") ?? env("USERPROFILE") ?? "/",
        // Verbs are called through doors.
        discovery: () => discovery()!,
        agent_port: () => ports().get(hire.name),
      },
    };
  },
});
