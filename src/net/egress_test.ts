import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { NameServer } from "../../tests/support/name_server.ts";
import { PRIVATE, PUBLIC_NAME, WithPublicSite } from "../../tests/support/private_network.ts";
import { granted } from "../../tests/support/permissions.ts";
import { Site } from "../../tests/support/site.ts";
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
    `127.0.0.1 port ${port} is an address of svc itself`,
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

Deno.test(
  { name: "names of the inside are refused, names that look like it are not", ignore },
  async () => {
    const inside = {
      "metadata.google.internal": "169.254.169.254",
      "app.localhost": "127.0.0.1",
      "127.0.0.1.nip.example": "127.0.0.1",
      "router.lan": "192.168.0.1",
    };
    const outside = {
      "localhost.example": "93.184.215.14",
      "127.0.0.1.example": "93.184.215.14",
      "10.example": "8.8.8.8",
      "internal.example": "172.15.0.1",
      "metadata.example": "169.253.169.254",
    };
    const answers = Object.entries({ ...inside, ...outside }).map(([name, it]) => [name, [it]]);
    await using names = new NameServer(Object.fromEntries(answers));
    await using egress = new Egress({ ...OPTIONS, resolve: (name) => names.resolve(name) });
    for (const [name, address] of Object.entries(inside)) {
      const said = `${name} (${address}) is not a public address`;
      await assertRejects(() => egress.addresses(name, 80), EgressRefused, said);
    }
    for (const [name, address] of Object.entries(outside)) {
      assertEquals(await egress.addresses(name, 80), [address]);
    }
  },
);

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test({ name: `a public site leads nowhere private by ${status}`, ignore }, async () => {
    const { server, asked, port } = forbidden();
    await using egress = new WithPublicSite(OPTIONS);
    // A header has ASCII only.
    for (const [address, reason] of PRIVATE.filter(([it]) => /^[ -~]+$/.test(it))) {
      const location = address.replace("<port>", String(port));
      await using site = new Site(() => new Response(null, { status, headers: { location } }));
      const said = await fetched(egress, `http://${PUBLIC_NAME}:${site.port}/`);
      assertStringIncludes(said, "redirected to ");
      assertStringIncludes(said, reason);
    }
    assertEquals(asked, []);
    await server.shutdown();
  });
}

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
      assertStringIncludes(said, "an address of svc itself", host);
    }
    assertEquals(asked, []);
    const other = forbidden();
    assertEquals(await fetched(egress, `http://127.0.0.1:${other.port}/`), "200 secret");
    await other.server.shutdown();
    await server.shutdown();
  },
});

Deno.test({ name: "who is not of the task gets no connection", ignore }, async () => {
  const asked: (readonly number[])[] = [];
  await using egress = new Egress({
    ...OPTIONS,
    allow_private: true,
    isFrom(_peer, _own, programs) {
      asked.push(programs);
      return Promise.resolve(false);
    },
  });
  egress.admit(7);
  assertStringIncludes(await fetched(egress, "http://127.0.0.1:9/"), "not refused: TypeError");
  assertEquals(asked, [[7]]);
});

Deno.test("public addresses are public", () => {
  const neighbours = [
    ...["8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450::1"],
    ...["9.255.255.255", "11.0.0.1", "126.255.255.255", "128.0.0.1", "100.63.255.255"],
    ...["100.128.0.1", "169.253.255.255", "169.255.0.1", "172.15.255.255", "172.32.0.1"],
    ...["192.167.255.255", "192.169.0.1", "198.17.255.255", "198.20.0.1", "223.255.255.254"],
    ...["168.63.129.15", "2001:4860:4860::8888"],
  ];
  for (const address of neighbours) assert(isPublicAddress(address), address);
  for (const address of ["", "example.com", "fe80::1%eth0", "3fff::1", "4000::1"]) {
    assert(!isPublicAddress(address), address);
  }
});

Deno.test({
  name: "whoever may reach private addresses reaches none that hands out credentials",
  ignore,
  async fn() {
    const inside: Record<string, string> = {
      "credentials.example": "169.254.169.254",
      "pod.example": "169.254.170.23",
      "six.example": "fd00:ec2::254",
      "mapped.example": "::ffff:169.254.169.254",
      "router.example": "192.168.0.1",
    };
    const { "router.example": router, ...metadata } = inside;
    await using egress = new Egress({
      ...OPTIONS,
      allow_private: true,
      resolve: (name) => Promise.resolve([inside[name]]),
    });
    for (const name of Object.keys(metadata)) {
      await assertRejects(() => egress.addresses(name, 80), EgressRefused, "credentials");
    }
    assertEquals(await egress.addresses("router.example", 80), [router]);
  },
});
