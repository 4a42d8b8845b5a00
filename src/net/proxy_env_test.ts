import { assertEquals } from "@std/assert";
import { directHosts, reachThisMachineDirectly } from "./direct_hosts.ts";
import { goesThroughProxy } from "./proxy_env.ts";

const HERE = "localhost,127.0.0.0/8,::1";

Deno.test("hosts without a proxy are listed with commas or blanks; this machine is always one", () => {
  assertEquals(directHosts(""), HERE);
  assertEquals(
    directHosts(".corp.test, localhost 10.0.0.0/8"),
    ".corp.test,localhost,10.0.0.0/8,127.0.0.0/8,::1",
  );
  assertEquals(directHosts("*"), `*,${HERE}`);
});

Deno.test("a proxy is named in any of six ways, and the list of direct hosts is set beside it", () => {
  const changed = (given: Record<string, string>) => {
    const env = new Map(Object.entries(given));
    reachThisMachineDirectly({
      get: (name) => env.get(name),
      set: (name, value) => void env.set(name, value),
    });
    return [env.get("NO_PROXY"), env.get("no_proxy")];
  };
  assertEquals(changed({}), [HERE, HERE]);
  // The lower-case one counts, as for curl.
  assertEquals(changed({ NO_PROXY: "a", no_proxy: "b" }), [`b,${HERE}`, `b,${HERE}`]);
  assertEquals(goesThroughProxy(() => undefined), false);
  for (const name of ["HTTP_PROXY", "https_proxy", "ALL_PROXY"]) {
    assertEquals(goesThroughProxy((it) => it === name ? "http://proxy.test:1" : undefined), true);
  }
});
