import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { NameServer } from "../../tests/support/name_server.ts";
import { granted } from "../../tests/support/permissions.ts";
import { isPublicAddress } from "./address.ts";
import { Egress, type EgressOptions, EgressRefused } from "./egress.ts";
import { follow, Refusal } from "./http_get.ts";

const ignore = !granted("net", "sys");

const OPTIONS: EgressOptions = { allow_private: false, own_ports: () => [] };

/** What fetching an address through the proxy of a task says. */
async function fetched(egress: Egress, url: string): Promise<string> {
  const { signal } = new AbortController();
  try {
    const { response } = await follow({ url, signal, egress });
    return `${response.status} ${await response.text()}`;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    return `not refused: ${error}`;
  }
}

/** A server on every loopback address, which must never be asked. */
function forbidden(): { server: Deno.HttpServer<Deno.NetAddr>; asked: string[]; port: number } {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "0.0.0.0", port: 0, onListen() {} }, (request) => {
    asked.push(request.url);
    return new Response("secret");
  });
  return { server, asked, port: server.addr.port };
}

/** Ways to name an address that a hired task must not reach; `<port>` is a server on loopback. */
const PRIVATE: readonly [string, string][] = [
  ["http://127.0.0.1:<port>/", "not a public address"],
  ["http://127.1:<port>/", "not a public address"],
  ["http://127.8.8.8:<port>/", "not a public address"],
  ["http://2130706433:<port>/", "not a public address"],
  ["http://0x7f000001:<port>/", "not a public address"],
  ["http://0x7f.0.0.1:<port>/", "not a public address"],
  ["http://0177.0.0.1:<port>/", "not a public address"],
  ["http://017700000001:<port>/", "not a public address"],
  ["http://0:<port>/", "not a public address"],
  ["http://0.0.0.0:<port>/", "not a public address"],
  ["http://%31%32%37.0.0.1:<port>/", "not a public address"],
  ["http://①②⑦.⓪.⓪.①:<port>/", "not a public address"],
  ["http://127.0.0.1.:<port>/", "not a public address"],
  ["http://localhost:<port>/", "not a public address"],
  ["http://LOCALHOST.:<port>/", "not a public address"],
  ["http://[::1]:<port>/", "not a public address"],
  ["http://[::]:<port>/", "not a public address"],
  ["http://[::ffff:127.0.0.1]:<port>/", "not a public address"],
  ["http://[::ffff:7f00:1]:<port>/", "not a public address"],
  ["http://[::7f00:1]:<port>/", "not a public address"],
  ["http://[64:ff9b::7f00:1]/", "not a public address"],
  ["http://[2002:7f00:1::]/", "not a public address"],
  ["http://[fe80::1]/", "not a public address"],
  ["http://[fd00::1]/", "not a public address"],
  ["http://[fec0::1]/", "not a public address"],
  ["http://10.0.0.1/", "not a public address"],
  ["http://172.16.0.1/", "not a public address"],
  ["http://192.168.1.1/", "not a public address"],
  ["http://169.254.169.254/latest/meta-data/", "not a public address"],
  ["http://100.64.0.1/", "not a public address"],
  ["http://198.18.0.1/", "not a public address"],
  ["http://224.0.0.1/", "not a public address"],
  ["http://255.255.255.255/", "not a public address"],
  ["https://127.0.0.1:<port>/", "not a public address"],
  ["file:///etc/passwd", "only http and https are fetched, not file:"],
  ["data:text/html,<b>x</b>", "only http and https are fetched, not data:"],
  ["ftp://127.0.0.1/", "only http and https are fetched, not ftp:"],
  ["blob:http://127.0.0.1/x", "only http and https are fetched, not blob:"],
  ["http://user:pass@127.0.0.1:<port>/", "credentials in a URL are not sent"],
];

for (const [address, reason] of PRIVATE) {
  Deno.test({ name: `hired work does not reach ${address}`, ignore }, async () => {
    const { server, asked, port } = forbidden();
    await using egress = new Egress(OPTIONS);
    const said = await fetched(egress, address.replace("<port>", String(port)));
    assertStringIncludes(said, reason);
    assertEquals(asked, []);
    await server.shutdown();
  });
}

Deno.test({ name: "a redirect is checked like the first address", ignore }, async () => {
  const { server, asked, port } = forbidden();
  const redirecting = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(null, { status: 302, headers: { location: `http://127.1:${port}/` } }),
  );
  await using egress = new Egress({ allow_private: true, own_ports: () => [port] });
  assertStringIncludes(
    await fetched(egress, `http://127.0.0.1:${redirecting.addr.port}/`),
    `127.0.0.1 port ${port} is this program's own address`,
  );
  assertEquals(asked, []);
  await redirecting.shutdown();
  await server.shutdown();
});

Deno.test({ name: "a name that a resolver leads to loopback is refused", ignore }, async () => {
  const { server, asked, port } = forbidden();
  await using names = new NameServer({ "inside.example": ["127.0.0.1"] });
  await using egress = new Egress({ ...OPTIONS, resolve: (name) => names.resolve(name) });
  const said = await fetched(egress, `http://inside.example:${port}/`);
  assertEquals(said, "inside.example (127.0.0.1) is not a public address");
  assertEquals(asked, []);
  await server.shutdown();
});

Deno.test({ name: "one private address among public ones is enough", ignore }, async () => {
  await using egress = new Egress({
    ...OPTIONS,
    resolve: () => Promise.resolve(["93.184.215.14", "10.0.0.7"]),
  });
  await assertRejects(() => egress.addresses("mixed.example", 80), EgressRefused, "10.0.0.7");
});

Deno.test({
  name: "a connection goes to the very address that was checked",
  ignore,
  async fn() {
    const first = Deno.serve({ hostname: "127.0.0.2", port: 0, onListen() {} }, () => {
      return new Response("first");
    });
    const { port } = first.addr;
    await using names = new NameServer({ "rebind.example": ["127.0.0.2", "127.0.0.1"] });
    let resolved = 0;
    await using egress = new Egress({
      allow_private: true,
      own_ports: () => [],
      resolve: (name) => {
        resolved++;
        return names.resolve(name);
      },
    });
    assertEquals(await fetched(egress, `http://rebind.example:${port}/`), "200 first");
    assertEquals(resolved, 1);
    await first.shutdown();
  },
});

Deno.test({
  name: "the daemon's own ports are refused also where private addresses are allowed",
  ignore,
  async fn() {
    const { server, asked, port } = forbidden();
    await using egress = new Egress({ allow_private: true, own_ports: () => [port] });
    for (const host of ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]"]) {
      const said = await fetched(egress, `http://${host}:${port}/`);
      assertStringIncludes(said, "this program's own address", host);
    }
    assertEquals(asked, []);
    const other = forbidden();
    assertEquals(await fetched(egress, `http://127.0.0.1:${other.port}/`), "200 secret");
    await other.server.shutdown();
    await server.shutdown();
  },
});

Deno.test({ name: "who is not this user gets no connection", ignore }, async () => {
  await using egress = new Egress({ ...OPTIONS, allow_private: true, sameUser: () => false });
  assertStringIncludes(await fetched(egress, "http://127.0.0.1:9/"), "not refused: TypeError");
});

Deno.test("public addresses are public", () => {
  for (const address of ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450::1"]) {
    assert(isPublicAddress(address), address);
  }
  for (const address of ["", "example.com", "fe80::1%eth0", "3fff::1", "4000::1"]) {
    assert(!isPublicAddress(address), address);
  }
});
