import { ownArguments } from "./src/cli/called_as.ts";
import { run } from "./src/cli/run.ts";
import { goesThroughProxy } from "./src/net/proxy_env.ts";
import { trustOwnCertificates } from "./src/os/own_ca.ts";

if (import.meta.main) {
  trustOwnCertificates();
  if (goesThroughProxy((name) => Deno.env.get(name))) {
    const { reachThisMachineDirectly } = await import("./src/net/direct_hosts.ts");
    reachThisMachineDirectly(Deno.env);
  }
  Deno.exit(await run(ownArguments(Deno.args)));
}
