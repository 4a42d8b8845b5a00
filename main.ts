import { ownArguments } from "./src/cli/called_as.ts";
import { run } from "./src/cli/run.ts";
import { trustOwnCertificates } from "./src/os/own_ca.ts";

if (import.meta.main) {
  trustOwnCertificates();
  Deno.exit(await run(ownArguments(Deno.args)));
}
