import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { type Config, DEFAULTS } from "../config/config.ts";
import type { Sandbox } from "../jail/sandbox.ts";
import { registryHosts } from "../net/registries.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Trust } from "../protocol/events.ts";
import { WaysOut } from "./way_out.ts";

const ignore = !granted("net", "write") || Deno.build.os === "windows";

async function withWays(
  sandbox: Partial<Config["sandbox"]>,
  body: (
    ways: WaysOut,
    workdir: string,
    directory: string,
    sandbox: Config["sandbox"],
  ) => Promise<void>,
  name = "proxies",
) {
  const root = Deno.makeTempDirSync();
  const directory = `${root}/${name}`;
  const workdir = `${root}/work`;
  Deno.mkdirSync(workdir);
  const config = { sandbox: { ...DEFAULTS.sandbox, network: "allowed", ...sandbox } } as Config;
  try {
    const ways = new WaysOut({
      config: () => config,
      networkOf: () => config.sandbox.network,
      sandbox: () => Promise.resolve({ forwards: true } as Sandbox),
      writable: () => [],
      directory,
      ports: () => [],
    });
    await body(ways, workdir, directory, config.sandbox);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** A session of a person. */
const OWN = { trust: "trusted" as Trust, title: "" };

/** Whether the list allows a host to a command. */
async function allows(ways: WaysOut, workdir: string, host: string): Promise<boolean | undefined> {
  let seen: boolean | undefined;
  await using way_out = await ways.open({ workdir, ...OWN }, (_to, allowed) => {
    seen = allowed;
    return Promise.resolve({ allow: false });
  });
  using conn = await Deno.connect({ transport: "unix", path: way_out!.proxy.path });
  await conn.write(new TextEncoder().encode(`CONNECT ${host}:443 HTTP/1.1\r\n\r\n`));
  await new Response(conn.readable).text();
  return seen;
}

Deno.test(
  { name: "the registries of a directory's manifests are allowed, and no others", ignore },
  async () => {
    const manifests = [
      "package.json",
      "requirements.txt",
      "Cargo.toml",
      "go.mod",
      "Gemfile",
      "pom.xml",
    ];
    const hosts = await Promise.all(
      manifests.map((name) => registryHosts((it) => Promise.resolve(it === name))),
    );
    assertEquals(new Set(hosts.flat()).size, hosts.flat().length);
    await withWays({}, async (ways, workdir) => {
      for (const [n, name] of manifests.entries()) {
        Deno.writeTextFileSync(`${workdir}/${name}`, "");
        const seen = await Promise.all(hosts.map(([host]) => allows(ways, workdir, host)));
        assertEquals(seen, manifests.map((_, at) => at === n), name);
        Deno.removeSync(`${workdir}/${name}`);
      }
    });
    await withWays({ registries: false }, async (ways, workdir) => {
      Deno.writeTextFileSync(`${workdir}/${manifests[0]}`, "");
      assertEquals(await allows(ways, workdir, hosts[0][0]), false);
    });
  },
);

Deno.test(
  {
    name:
      "loopback is reached without the proxy, unless an entry names a port that no command can open",
    ignore,
  },
  async () => {
    const direct = async (allowed_hosts: string[]) => {
      let found: readonly string[] = [];
      await withWays({ allowed_hosts }, async (ways, workdir) => {
        await using way_out = await ways.open({ workdir, ...OWN });
        found = way_out!.proxy.direct;
      });
      return found;
    };
    assertEquals(await direct([]), ["localhost", "127.0.0.1", "::1"]);
    // A port that its own loopback has as well.
    assertEquals(await direct(["localhost:4873"]), ["localhost", "127.0.0.1", "::1"]);
    assertEquals(await direct(["localhost:873"]), ["127.0.0.1", "::1"]);
  },
);

Deno.test(
  { name: "only a person's own sessions are led to their git credentials", ignore },
  async () => {
    await withWays({ git_credentials: ["a.example"] }, async (ways, workdir) => {
      const led = async (session: { trust: Trust; title: string }) => {
        await using way_out = await ways.open({ workdir, ...session });
        return way_out!.proxy.git?.length ?? 0;
      };
      assertEquals(await led(OWN) > 0, true);
      assertEquals(await led({ trust: "untrusted", title: "" }), 0);
      assertEquals(await led({ trust: "trusted", title: `task t-${"0".repeat(26)}` }), 0);
    });
  },
);

Deno.test(
  { name: "a command that runs loses its network and registries when they are turned off", ignore },
  async () => {
    const server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = server.addr;
    const set: Partial<Config["sandbox"]> = { allowed_hosts: [`127.0.0.1:${port}`] };
    await withWays(set, async (ways, workdir, _directory, sandbox) => {
      Deno.writeTextFileSync(`${workdir}/package.json`, "");
      const seen: boolean[] = [];
      await using way_out = await ways.open({ workdir, ...OWN }, (_to, allowed) => {
        seen.push(allowed);
        return Promise.resolve({ allow: allowed && seen.length === 1 });
      });
      const connect = async (to: string) => {
        const conn = await Deno.connect({ transport: "unix", path: way_out!.proxy.path });
        await conn.write(new TextEncoder().encode(`CONNECT ${to} HTTP/1.1\r\n\r\n`));
        return conn;
      };
      const say = async (to: string) => await new Response((await connect(to)).readable).text();
      using client = await connect(`127.0.0.1:${port}`);
      using accepted = await server.accept();
      await client.read(new Uint8Array(100));
      const [registry] = await registryHosts((name) => Promise.resolve(name === "package.json"));
      await say(`${registry}:443`);
      sandbox.registries = false;
      await say(`${registry}:443`);
      assertEquals(seen, [true, true, false]);
      sandbox.network = false;
      assertStringIncludes(await say(`127.0.0.1:${port}`), "the network was turned off");
      assertEquals(seen.length, 3);
      // What is open carries nothing any more.
      await client.write(new Uint8Array([1])).catch(() => {});
      assertEquals(await accepted.read(new Uint8Array(1)).catch(() => null), null);
    });
    server.close();
  },
);

Deno.test({
  name: "sockets that a killed daemon left are removed, and each command has its own",
  ignore,
}, async () => {
  await withWays({}, async (ways, workdir, directory) => {
    const first = await ways.open({ workdir, ...OWN });
    const second = await ways.open({ workdir, ...OWN });
    const names = () => [...Deno.readDirSync(directory)].length;
    assertEquals([names(), Deno.statSync(directory).mode! & 0o777], [2, 0o700]);
    await first![Symbol.asyncDispose]();
    assertEquals(names(), 1);
    const parts = {
      config: () => ({}) as Config,
      networkOf: () => false,
      writable: () => [],
      ports: () => [],
    };
    new WaysOut({ ...parts, directory, sandbox: () => Promise.reject(new Error("unused")) });
    assertEquals(names(), 0);
    await second![Symbol.asyncDispose]();
  });
});

Deno.test(
  { name: "a path that is too long for a socket is an error that says what to do", ignore },
  async () => {
    await withWays({}, async (ways, workdir) => {
      const opening = () => ways.open({ workdir, ...OWN });
      const error = await assertRejects(opening, SvcError, "cannot open a network proxy");
      assertEquals(error.hint?.includes("SVC_HOME"), true);
    }, "p".repeat(120));
  },
);
