/** A machine with a proxy in its environment: what is on the machine is reached directly. */
import { assert, assertEquals } from "@std/assert";
import { startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { httpEntry, policyOf } from "../support/tool_servers.ts";

const ignore = !can_run_svc;

/** A proxy that notes what it is asked for, and has none of it. */
function refusingProxy() {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(request.url);
    return new Response("no such host", { status: 403 });
  });
  return { asked, address: `http://127.0.0.1:${server.addr.port}`, server };
}

/** From source, Deno looks for its own updates, too. */
const here = (asked: string[]) => asked.filter((url) => /127\.0\.0\.\d|localhost/.test(url));

/** Asks in a daemon of its own, which reads daemon.toml and the environment. */
async function ask(place: Place, workdir: string) {
  const daemon = await place.serve();
  try {
    return await place.svc(["chat", workdir, "-m", "local/m", "-p", "hi"]);
  } finally {
    await daemon.stop();
  }
}

for (const variable of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) {
  Deno.test({
    name:
      `with ${variable}, models, the daemon and svc doctor are reached directly, other hosts are not (google-gemini/gemini-cli#3340)`,
    ignore,
    async fn() {
      const proxy = refusingProxy();
      const models = startOpenAiServer(() => ({ text: "hello" }), { open: true });
      try {
        await using place = new Place({ [variable]: proxy.address, NO_PROXY: "other.test" });
        const { port } = new URL(models.url);
        const workdir = place.mkdir("project");
        for (const host of ["127.0.0.1", "localhost"]) {
          place.useLocalModel(`http://${host}:${port}/v1`);
          const { code, stdout, stderr } = await ask(place, workdir);
          assertEquals([code, stdout], [0, "hello\n"], stderr);
          assertEquals(here(proxy.asked), []);
        }
        const doctor = await place.svc(["doctor"]);
        assertEquals(here(proxy.asked), [], doctor.stdout);
        // The control: the proxy is asked for what is elsewhere.
        place.useLocalModel("http://models.elsewhere.test/v1");
        const far = await ask(place, workdir);
        assertEquals(far.code, 1, far.stdout);
        assert(proxy.asked.some((url) => url.includes("models.elsewhere.test")));
      } finally {
        await models.close();
        await proxy.server.shutdown();
      }
    },
  });
}

/** A proxy that notes the first line of what it is asked, also for a tunnel, and refuses it. */
function notingProxy() {
  const asked: string[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const conn of listener) {
      const bytes = new Uint8Array(4_096);
      const read = await conn.read(bytes).catch(() => null);
      asked.push(new TextDecoder().decode(bytes.subarray(0, read ?? 0)).split("\r\n", 1)[0]);
      const refusal = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
      await conn.write(new TextEncoder().encode(refusal)).catch(() => {});
      conn.close();
    }
  })();
  const address = `http://127.0.0.1:${listener.addr.port}`;
  const asks = (host: string) => asked.some((line) => line.includes(host));
  return {
    asks,
    address,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

/** Asks tool servers for their tools; the daemon has these variables. */
async function toolsOf(servers: Record<string, string>, env: Record<string, string>) {
  await using place = new Place(env);
  place.setPolicy(policyOf(...Object.entries(servers).map(([name, url]) => httpEntry(name, url))));
  await using client = await (await place.serve()).rpc();
  const found: [string, boolean][] = [];
  for (const name of Object.keys(servers)) {
    found.push([name, (await client.rpc.call("mcp.test_server", { name })).ok]);
  }
  return Object.fromEntries(found);
}

/** Names for the address of a proxy, and what else the environment has. */
const REPORTED: Record<string, { names: string[]; more: Record<string, string> }> = {
  "anthropics/claude-code#34804: HTTP_PROXY, HTTPS_PROXY, NO_PROXY": {
    names: ["HTTP_PROXY", "HTTPS_PROXY"],
    more: { NO_PROXY: "localhost,127.0.0.1" },
  },
  "anthropics/claude-code#23344: no_proxy in lower case": {
    names: ["HTTP_PROXY", "HTTPS_PROXY"],
    more: { no_proxy: "localhost,127.0.0.1" },
  },
  "slopus/happy#1021: no NO_PROXY at all": { names: ["http_proxy", "https_proxy"], more: {} },
  "NVIDIA/NemoClaw#2616: NO_PROXY without this machine": {
    names: ["ALL_PROXY"],
    more: { NO_PROXY: "intranet.test" },
  },
};

for (const [report, variables] of Object.entries(REPORTED)) {
  Deno.test({
    name: `tool servers on this machine are reached past a proxy (${report})`,
    ignore,
    async fn() {
      await using proxy = notingProxy();
      await using server = startHttpToolServer();
      const found = await toolsOf({
        address: server.url,
        name: server.url.replace("127.0.0.1", "localhost"),
        far: "https://tools.elsewhere.test/mcp",
      }, {
        ...Object.fromEntries(variables.names.map((name) => [name, proxy.address])),
        ...variables.more,
      });
      assertEquals(found, { address: true, name: true, far: false });
      assertEquals([proxy.asks("127.0.0.1"), proxy.asks("localhost")], [false, false]);
      assert(proxy.asks("tools.elsewhere.test"), "the control: what is elsewhere goes through it");
    },
  });
}

Deno.test({
  name: "NO_PROXY names hosts, domains with and without a dot, and all, as for curl",
  ignore,
  async fn() {
    const reached = async (no_proxy: string) => {
      await using proxy = notingProxy();
      const far = { far: "https://tools.elsewhere.test/mcp" };
      await toolsOf(far, { HTTPS_PROXY: proxy.address, NO_PROXY: no_proxy });
      return proxy.asks("tools.elsewhere.test") ? "through the proxy" : "directly";
    };
    for (
      const [no_proxy, how] of [
        ["tools.elsewhere.test", "directly"],
        ["elsewhere.test", "directly"],
        [".elsewhere.test", "directly"],
        ["localhost, elsewhere.test", "directly"],
        ["TOOLS.Elsewhere.Test", "directly"],
        ["*", "directly"],
        ["where.test", "through the proxy"],
        ["my.tools.elsewhere.test", "through the proxy"],
        ["", "through the proxy"],
      ]
    ) {
      assertEquals([no_proxy, await reached(no_proxy)], [no_proxy, how]);
    }
  },
});
