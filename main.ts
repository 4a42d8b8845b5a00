import { run } from "./src/cli/commands.ts";

if (import.meta.main) Deno.exit(await run(Deno.args));
