import { feature, startOption } from "../../verbs/feature.ts";
import { tasks } from "../tasks/feature.ts";
import { HIRE } from "./config.ts";
import type { HireOptions } from "./listener.ts";

/** Options of the command line for hiring. */
export const forHire = startOption<{
  /** Tokens of those who may hire; they also sign reports. */
  tokens: readonly string[];
  /** How to accept tasks for hire; by default, none are. */
  offer?: HireOptions;
}>();

export const hire = feature({
  name: "hire",
  sections: [HIRE],
  migrations: async () => (await import("./migrations.ts")).MIGRATIONS,
  open(host) {
    const { tokens = [], offer } = host.given(forHire) ?? {};
    host.log.mask(...tokens);
    const { tasks: engine, reportBy } = host.use(tasks);
    reportBy(async () => (await import("./open.ts")).openReporter(host, tokens));
    return {
      services: {},
      async listen() {
        if (offer === undefined) return undefined;
        const { openListener } = await import("./open.ts");
        return openListener(host, { tokens, offer, engine });
      },
    };
  },
});
