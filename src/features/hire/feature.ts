import { feature, startOption } from "../../verbs/feature.ts";
import { tasks } from "../tasks/feature.ts";
import { HIRE } from "./config.ts";
import type { HireOptions } from "./listener.ts";

/** What the command line says of hiring. */
export const forHire = startOption<{
  /** Tokens of those who may hire; reports of tasks are signed with them. */
  tokens: readonly string[];
  /** How tasks are taken for hire; not at all by default. */
  offer?: HireOptions;
}>();

/** Takes tasks for hire, and reports how they ended. */
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
