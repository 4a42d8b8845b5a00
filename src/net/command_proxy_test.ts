import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { granted } from "../../tests/support/permissions.ts";
import { parseAllowedHost } from "./allowed_hosts.ts";
import { CommandProxy, type CommandProxyOptions, CONNECTIONS_MAX } from "./command_proxy.ts";
import { GitWay } from "./git_way.ts";

const ignore = !granted("net", "sys", "write");

interface Bench extends AsyncDisposable {
  proxy: CommandProxy;
  /** Port of a server on loopback that answers with what it was asked. */
  port: number;
  asked: string[];
  /** Sends bytes to the proxy and reads to the end. */
  say(text: string | Uint8Array<ArrayBuffer>): Promise<string>;
}

function bench(
  allowed: (port: number) => string[],
  options: Partial<CommandProxyOptions> = {},
): Bench {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const text = `${request.method} ${pathname} for ${request.headers.get("host")} ${await request
      .text()}`;
    asked.push(text);
    return new Response(text);
  });
  const { port } = server.addr;
  const directory = Deno.makeTempDirSync();
  const entries = allowed(port).map(parseAllowedHost);
  const proxy = new CommandProxy({
    path: `${directory}/proxy`,
    allowed: () => entries,
    local: true,
    all: { connections: 0 },
    own_ports: () => [],
    ...options,
  });
  return {
    proxy,
    port,
    asked,
    async say(text) {
      using conn = await Deno.connect({ transport: "unix", path: proxy.path });
      await conn.write(typeof text === "string" ? new TextEncoder().encode(text) : text);
      return await new Response(conn.readable).text().catch(() => "(cut off)");
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server.shutdown();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

const LAST = "connection: close\r\n\r\n";

Deno.test(
  { name: "a request goes to an allowed host, by HTTP, by CONNECT and by SOCKS", ignore },
  async () => {
    await using it = bench((port) => [`localhost:${port}`]);
    const host = `localhost:${it.port}`;
    const plain = await it.say(
      `POST http://${host}/a?b HTTP/1.1\r\nHost: other\r\nContent-Length: 4\r\n\r\nbody`,
    );
    assertStringIncludes(plain, `POST /a for ${host} body`);
    const tunnel = await it.say(
      `CONNECT ${host} HTTP/1.1\r\n\r\nGET /early HTTP/1.1\r\nHost: x\r\n${LAST}`,
    );
    assert(tunnel.startsWith("HTTP/1.1 200 "), tunnel);
    assertStringIncludes(tunnel, "GET /early for x");
    const name = new TextEncoder().encode("localhost");
    const request = new TextEncoder().encode(`GET /socks HTTP/1.1\r\nHost: y\r\n${LAST}`);
    const socks = await it.say(
      new Uint8Array([
        ...[5, 1, 0, 5, 1, 0, 3, name.length, ...name, it.port >> 8, it.port & 0xff],
        ...request,
      ]),
    );
    assertStringIncludes(socks, "GET /socks for y");
    assertEquals(it.proxy.refusals, []);
  },
);

Deno.test({ name: "what follows a request does not become another one", ignore }, async () => {
  await using it = bench((port) => [`localhost:${port}`]);
  const host = `localhost:${it.port}`;
  const said = await it.say(
    `GET http://${host}/first HTTP/1.1\r\n\r\nGET http://other.example/second HTTP/1.1\r\n\r\n`,
  );
  assert(!said.includes("second"), said);
  assertEquals(it.asked.filter((text) => text.includes("second")), []);
});

Deno.test(
  { name: "a host that no entry allows is refused, named and not resolved", ignore },
  async () => {
    const resolved: string[] = [];
    await using it = bench(() => ["good.example"], {
      resolve(name) {
        resolved.push(name);
        return Promise.resolve(["127.0.0.1"]);
      },
    });
    const said = await it.say("CONNECT secret-data.evil.example:443 HTTP/1.1\r\n\r\n");
    assert(said.startsWith("HTTP/1.1 403 Refused by svc\r\n"), said);
    assertStringIncludes(said, 'add "secret-data.evil.example" to allowed_hosts');
    assertEquals(resolved, []);
    // An allowed name that leads into this machine.
    assertStringIncludes(
      await it.say("GET http://good.example/ HTTP/1.1\r\n\r\n"),
      "good.example (127.0.0.1) is not a public address",
    );
    assertEquals(it.proxy.refusals.length, 2);
  },
);

Deno.test(
  { name: "a name is resolved once, and that address is the one that is checked", ignore },
  async () => {
    let calls = 0;
    await using it = bench(() => ["rebinding.example"], {
      resolve() {
        return Promise.resolve([calls++ === 0 ? "192.0.2.1" : "127.0.0.1"]);
      },
    });
    const said = await it.say("CONNECT rebinding.example:80 HTTP/1.1\r\n\r\n");
    assertStringIncludes(said, "403");
    assertEquals(calls, 1);
  },
);

Deno.test(
  { name: "the daemon's own ports and metadata are refused whatever is allowed", ignore },
  async () => {
    const own: number[] = [];
    await using it = bench(
      (port) => [`localhost:${port}`, `127.0.0.1:${port}`, "169.254.169.254:80"],
      { own_ports: () => own, decide: () => Promise.resolve({ allow: true }) },
    );
    own.push(it.port);
    for (
      const host of [
        "localhost",
        "127.0.0.1",
        "a.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
      ]
    ) {
      const said = await it.say(`CONNECT ${host}:${it.port} HTTP/1.1\r\n\r\n`);
      assertStringIncludes(said, "is an address of svc itself");
    }
    for (const host of ["169.254.169.254", "metadata.google.internal", "[fd00:ec2::254]"]) {
      assertStringIncludes(await it.say(`CONNECT ${host}:80 HTTP/1.1\r\n\r\n`), "metadata");
    }
    assertEquals(it.asked, []);
  },
);

Deno.test({
  name: "work for others reaches nothing on this machine, even if an entry names it",
  ignore,
}, async () => {
  await using it = bench((port) => [`localhost:${port}`, `127.0.0.1:${port}`], {
    local: false,
  });
  for (const host of ["localhost", "127.0.0.1"]) {
    const said = await it.say(`CONNECT ${host}:${it.port} HTTP/1.1\r\n\r\n`);
    assertStringIncludes(said, "work for others");
  }
});

Deno.test(
  { name: "each connection is decided about, and the time of a person is counted", ignore },
  async () => {
    const questions: string[] = [];
    const answer = Promise.withResolvers<{ allow: boolean; why: string }>();
    await using it = bench(() => [], {
      decide({ host }, allowed, wait) {
        questions.push(`${host} ${allowed}`);
        return wait(answer.promise);
      },
    });
    const asking = [1, 2, 3].map(() => it.say("CONNECT new.example:443 HTTP/1.1\r\n\r\n"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const waited = it.proxy.waited_ms;
    assert(waited >= 50 && waited < 5_000, String(waited));
    answer.resolve({ allow: false, why: "not today" });
    for (const said of await Promise.all(asking)) assertStringIncludes(said, "not today");
    assertEquals(questions, Array(3).fill("new.example false"));
    const { waited_ms } = it.proxy;
    await new Promise((resolve) => setTimeout(resolve, 20));
    assertEquals(it.proxy.waited_ms, waited_ms);
    assertEquals(it.proxy.refusals, ["not today"]);
  },
);

Deno.test(
  { name: "a thousand connections are bounded, and those after them served", ignore },
  async () => {
    await using it = bench((port) => [`localhost:${port}`]);
    const open: Deno.Conn[] = [];
    for (let n = 0; n < 1_000; n++) {
      open.push(await Deno.connect({ transport: "unix", path: it.proxy.path }));
    }
    const closed = async (conn: Deno.Conn) =>
      await Promise.race([
        conn.read(new Uint8Array(1)).then((count) => count === null, () => true),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 500)),
      ]);
    const ended = await Promise.all(open.map(closed));
    assertEquals(ended.filter((it) => !it).length, CONNECTIONS_MAX);
    for (const conn of open) conn.close();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const said = await it.say(`GET http://localhost:${it.port}/after HTTP/1.1\r\n\r\n`);
    assertStringIncludes(said, "/after");
  },
);

Deno.test({ name: "its end closes what is open, and the socket is gone", ignore }, async () => {
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = silent.addr;
  const it = bench(() => [`127.0.0.1:${port}`]);
  using conn = await Deno.connect({ transport: "unix", path: it.proxy.path });
  await conn.write(new TextEncoder().encode(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`));
  using accepted = await silent.accept();
  await conn.read(new Uint8Array(100));
  await it[Symbol.asyncDispose]();
  assertEquals(await conn.read(new Uint8Array(1)).catch(() => null), null);
  assertEquals(await accepted.read(new Uint8Array(1)).catch(() => null), null);
  silent.close();
});

Deno.test(
  { name: "a server of git that does not speak TLS is left at once, for each request", ignore },
  async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    const unused = () => Promise.reject(new Error("unused"));
    const git = new GitWay({
      hosts: () => [{ host: "localhost", port }],
      credentials: { fill: unused, settle: unused },
    });
    await using it = bench(() => [`localhost:${port}`], { git });
    const host = `localhost.git.svc.invalid:${port}`;
    for (let n = 0; n < 3; n++) {
      const said = it.say(
        `GET http://${host}/a/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      );
      using conn = await listener.accept();
      await conn.write(new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n"));
      assertStringIncludes(await said, "502 Bad Gateway");
      const ended = new Response(conn.readable).bytes().catch(() => {});
      await deadline(ended, 2_000);
    }
  },
);

Deno.test(
  { name: "refusals of pushes to two repositories of a host are both told", ignore },
  async () => {
    const unused = () => Promise.reject(new Error("unused"));
    const git = new GitWay({
      hosts: () => [{ host: "a.example", port: 443 }],
      credentials: { fill: unused, settle: unused },
    });
    await using it = bench(() => [], {
      git,
      decide: ({ push }) => Promise.resolve({ allow: false, why: `no push to ${push}` }),
    });
    const host = "a.example.git.svc.invalid";
    for (const path of ["/me/a", "/me/b"]) {
      await it.say(
        `GET http://${host}${path}/info/refs?service=git-receive-pack HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      );
    }
    assertEquals(it.proxy.refusals, ["no push to /me/a", "no push to /me/b"]);
  },
);
