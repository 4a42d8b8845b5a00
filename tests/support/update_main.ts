/** Runs `svc update` from source as if it were the binary. Argument one: the version that it is. */
import { update as stated } from "../../src/cli/table/update.ts";
import type { Input } from "../../src/cli/spec.ts";
import { parse } from "../../src/cli/parse.ts";
import type { UPDATE } from "../../src/cli/table/update.ts";
import { update } from "../../src/cli/update.ts";

const [version, ...argv] = Deno.args;
try {
  const { input } = parse(stated, "svc update", argv);
  const { flags } = input as unknown as Input<typeof UPDATE>;
  Deno.exit(
    await update(flags, { standalone: true, version, path: "/elsewhere/svc", name: "svc" }),
  );
} catch (error) {
  const { message, hint } = error as { message: string; hint?: string };
  console.error(`svc: ${message}`);
  if (hint !== undefined) console.error(`     ${hint}`);
  Deno.exit(1);
}
