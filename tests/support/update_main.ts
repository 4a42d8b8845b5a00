/** Runs `svc update` from source as if it were the binary. Argument one: the version that it is. */
import { update } from "../../src/cli/update.ts";

const [version, ...argv] = Deno.args;
try {
  Deno.exit(await update(argv, { standalone: true, version, path: "/elsewhere/svc" }));
} catch (error) {
  const { message, hint } = error as { message: string; hint?: string };
  console.error(`svc: ${message}`);
  if (hint !== undefined) console.error(`     ${hint}`);
  Deno.exit(1);
}
