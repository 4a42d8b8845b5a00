import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { beforeTests } from "../support/before_tests.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { granted } from "../support/permissions.ts";
import { publishFor, scriptBinary } from "../support/releases.ts";
import { can_run_svc, Place, tests_binary } from "../support/svc.ts";
import { connect, http, mode, refused } from "./contract_kit.ts";
import { row } from "./row.ts";

const posix = Deno.build.os !== "windows";
const root = posix && granted("sys") && Deno.uid() === 0;

function section1(name: string, fn: () => void | Promise<void>, options = { ignore: !posix }) {
  row("contract", "1 Homes, files, modes", name, fn, options);
}

/** A place whose daemon has only these variables to find its directories. */
function placeWith(env: (place: Place) => Record<string, string>): Place {
  const place = new Place();
  const { SVC_HOME: _, HOME: __, ...rest } = place.env;
  const home = place.mkdir("person");
  for (const name of Object.keys(place.env)) delete place.env[name];
  Object.assign(place.env, rest, { HOME: home }, env(place));
  return place;
}

section1("home: $SVC_HOME, mode 0700", async () => {
  await using place = new Place();
  await place.serve();
  assertEquals(mode(place.home), "0700");
  assertEquals(mode(join(place.home, "daemon.json")), "0600");
});

section1("home: else ~/.svc, mode 0700", async () => {
  await using place = placeWith((place) => ({ XDG_RUNTIME_DIR: place.mkdir("xdg") }));
  await place.serve();
  const home = join(place.dir, "person", ".svc");
  assertEquals(mode(home), "0700");
  assertEquals(mode(join(home, "daemon.json")), "0600");
});

const SOCKETS: [string, (place: Place) => Record<string, string>, (dir: string) => string][] = [
  [
    "$SVC_RUNTIME_DIR/svc.sock",
    (place) => ({
      SVC_RUNTIME_DIR: join(place.dir, "runtime"),
      SVC_HOME: join(place.dir, "h"),
      XDG_RUNTIME_DIR: place.mkdir("xdg"),
    }),
    (dir) => join(dir, "runtime", "svc.sock"),
  ],
  [
    "else $SVC_HOME/run/svc.sock",
    (place) => ({ SVC_HOME: join(place.dir, "h"), XDG_RUNTIME_DIR: place.mkdir("xdg") }),
    (dir) => join(dir, "h", "run", "svc.sock"),
  ],
  [
    "else $XDG_RUNTIME_DIR/svc/svc.sock",
    (place) => ({ XDG_RUNTIME_DIR: place.mkdir("xdg"), TMPDIR: place.mkdir("tmp") }),
    (dir) => join(dir, "xdg", "svc", "svc.sock"),
  ],
  [
    "else $TMPDIR/svc-<uid>/svc.sock",
    (place) => ({ TMPDIR: place.mkdir("tmp") }),
    (dir) => join(dir, "tmp", `svc-${Deno.uid()}`, "svc.sock"),
  ],
];
for (const [rule, env, path] of SOCKETS) {
  section1(`socket: ${rule}; 0600 in a 0700 parent`, async () => {
    await using place = placeWith(env);
    const daemon = await place.serve();
    assertEquals(daemon.sock, path(place.dir));
    assertEquals([mode(daemon.sock), mode(dirname(daemon.sock))], ["0600", "0700"]);
    await using client = await connect(daemon);
    assertEquals((await client.call("daemon.health")).status, "ok");
  });
}

section1("logs: log/daemon.ndjson, 0600, NDJSON", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  await daemon.stop();
  const path = join(place.home, "log", "daemon.ndjson");
  assertEquals([mode(path), mode(dirname(path))], ["0600", "0700"]);
  for (const line of Deno.readTextFileSync(path).trimEnd().split("\n")) JSON.parse(line);
});

section1("logs: rotated at 10 MB, 5 kept", async () => {
  await using place = new Place();
  const dir = join(place.home, "log");
  const path = join(dir, "daemon.ndjson");
  await (await place.serve()).stop();
  const filler = `${JSON.stringify({ level: "info", message: "x".repeat(1000) })}\n`;
  for (let n = 0; n < 8; n++) {
    Deno.writeTextFileSync(path, filler.repeat(Math.ceil(10_500_000 / filler.length)));
    await (await place.serve()).stop();
    assert(Deno.statSync(path).size < 10_000_000, `start ${n}: the full file was not rotated`);
  }
  const names = [...Deno.readDirSync(dir)].map(({ name }) => name)
    .filter((name) => name.startsWith("daemon.ndjson"));
  assert([5, 6].includes(names.length), `kept: ${names}`);
  for (const name of names) assertEquals(mode(join(dir, name)), "0600", name);
});

section1("logs: secrets masked", async () => {
  const key = "sk-ant-api03-" + "Zq7".repeat(20);
  // A provider that refuses the key and repeats it.
  const server = startOpenAiServer(() => ({ text: "never" }), { api_key: "another" });
  try {
    await using place = new Place({ LOCAL_KEY: key });
    place.configure(
      `[models.local]\nkind = "openai-compatible"\nbase_url = "${server.url}"\n` +
        `api_key_env = "LOCAL_KEY"\n[log]\nlevel = "debug"\n`,
    );
    const daemon = await place.serve();
    await using client = await connect(daemon);
    const session_id = await client.session({ workdir: place.mkdir("w"), model: "local/m" });
    const { data } = await client.turn(session_id, "go");
    assertEquals([data.stop_reason, server.requests.length > 0], ["error", true]);
    assert(!JSON.stringify(client.messages).includes(key), "the key is in an event");
    await daemon.stop();
    const log = Deno.readTextFileSync(join(place.home, "log", "daemon.ndjson"));
    for (const secret of [key, daemon.token]) {
      assert(!log.includes(secret), "a secret is in the log");
    }
  } finally {
    await server.close();
  }
});

section1("databases: state.db, SQLite with WAL, 0600", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  await using client = await connect(daemon);
  await client.call("queue.status");
  const path = join(place.home, "state.db");
  const names = [...Deno.readDirSync(place.home)].map(({ name }) => name);
  for (const name of names.filter((name) => name.startsWith("state.db"))) {
    assertEquals(mode(join(place.home, name)), "0600", name);
  }
  const header = Deno.readFileSync(path).subarray(0, 20);
  assertEquals(new TextDecoder().decode(header.subarray(0, 15)), "SQLite format 3");
  assertEquals([header[18], header[19]], [2, 2], "not in WAL mode");
});

/** What a daemon that crashed leaves, and how wide each may be. */
const FILES: [string, string, (place: Place, sock: string) => string][] = [
  ["home", "0700", (place) => place.home],
  ["daemon.json", "0600", (place) => join(place.home, "daemon.json")],
  ["daemon.lock", "0600", (place) => join(place.home, "daemon.lock")],
  ["sessions-index.json", "0600", (place) => join(place.home, "sessions-index.json")],
  ["daemon.toml", "0600", (place) => join(place.home, "daemon.toml")],
  ["policy.yaml", "0600", (place) => join(place.home, "policy.yaml")],
  ["state.db", "0600", (place) => join(place.home, "state.db")],
  ["socket", "0600", (_, sock) => sock],
  ["parent of the socket", "0700", (_, sock) => dirname(sock)],
  ["log directory", "0700", (place) => join(place.home, "log")],
  ["log", "0600", (place) => join(place.home, "log", "daemon.ndjson")],
  ["bus directory", "0700", (place) => join(place.home, "bus")],
];

/** A place where a daemon had a session and a queue, and crashed. */
class Crashed {
  place!: Place;
  sock = "";

  /** Crashes before the file's first row; each row leaves it as it was. */
  constructor() {
    beforeTests(async () => {
      if (!can_run_svc || !posix) return;
      this.place = new Place();
      this.place.configure("[agent]\nmax_steps = 50\n");
      this.place.setPolicy("mcp_servers: []\n");
      const daemon = await this.place.serve();
      this.sock = daemon.sock;
      const body = { workdir: this.place.mkdir("w") };
      assertEquals((await http(daemon, "POST", "/v1/sessions", { body })).status, 201);
      const client = await connect(daemon);
      await client.call("queue.status");
      // Answered once the bus has its directory.
      await client.call("bus.tail", {});
      await client[Symbol.asyncDispose]();
      await daemon.kill();
    });
    Deno.test.afterAll(async () => await this.place?.[Symbol.asyncDispose]());
  }
}

const crashed = new Crashed();
for (const [name, right, of] of FILES) {
  section1(
    `${name}: wider than ${right}: refuses, names path, mode and chmod; exit 1`,
    async () => {
      const { place, sock } = crashed;
      const path = of(place, sock);
      try {
        for (const more of [0o040, 0o004, 0o002]) {
          const found = parseInt(right, 8) | more;
          Deno.chmodSync(path, found);
          const { code, stdout, stderr } = await refused(place);
          assertEquals([code, stdout], [1, ""]);
          const octal = found.toString(8).padStart(4, "0");
          assertStringIncludes(stderr, path);
          assertStringIncludes(stderr, octal.slice(1));
          assert(new RegExp(`chmod (-R )?0?${right.slice(1)} '?${path}`).test(stderr), stderr);
          assertEquals(mode(path), octal, "it was changed silently");
        }
      } finally {
        Deno.chmodSync(path, parseInt(right, 8));
      }
      const daemon = await place.serve();
      assertEquals((await http(daemon, "GET", "/v1/health")).status, 200);
      await daemon.kill();
    },
  );

  section1(`${name}: a symlink in its place: refuses, exit 1`, async () => {
    const { place, sock } = crashed;
    const path = of(place, sock);
    Deno.renameSync(path, `${path}.moved`);
    Deno.symlinkSync(`${path}.moved`, path);
    try {
      const { code, stdout, stderr } = await refused(place);
      assertEquals([code, stdout], [1, ""]);
      assertStringIncludes(stderr, path);
      assert(Deno.lstatSync(path).isSymlink);
    } finally {
      Deno.removeSync(path);
      Deno.renameSync(`${path}.moved`, path);
    }
  });

  section1(`${name}: a foreign owner: refuses, exit 1`, async () => {
    const { place, sock } = crashed;
    const path = of(place, sock);
    Deno.chownSync(path, 65534, 65534);
    try {
      const { code, stdout, stderr } = await refused(place);
      assertEquals([code, stdout], [1, ""]);
      assertStringIncludes(stderr, path);
      assertEquals(Deno.lstatSync(path).uid, 65534, "it was changed silently");
    } finally {
      Deno.chownSync(path, Deno.uid()!, Deno.gid()!);
    }
  }, { ignore: !root });
}

section1("binary: ~/.svc/bin/svc, the replaced one kept as svc.previous", async () => {
  await using place = new Place();
  await using _server = await publishFor(place, "9.0.0");
  const binary = join(place.home, "bin", "svc");
  Deno.mkdirSync(dirname(binary), { mode: 0o700 });
  Deno.writeFileSync(binary, scriptBinary("8.0.0"), { mode: 0o755 });
  const { code, stderr } = await place.svc(["update"]);
  assertEquals(code, 0, stderr);
  assertEquals(Deno.readFileSync(binary), scriptBinary("9.0.0"));
  assertEquals(Deno.readFileSync(`${binary}.previous`), scriptBinary("8.0.0"));
}, { ignore: !posix || !tests_binary });

section1("a socket path that is too long is refused, with its length and what to do", async () => {
  await using place = new Place();
  const longest = Deno.build.os === "linux" ? 107 : 103;
  const dirOf = (bytes: number) => {
    const dir = place.mkdir("r".repeat(bytes - place.dir.length - 10));
    Deno.chmodSync(dir, 0o700);
    return dir;
  };
  place.env.SVC_RUNTIME_DIR = dirOf(longest + 1);
  for (const { code, stderr } of [await refused(place), await place.svc(["chat", "-p", "help"])]) {
    assertEquals(code, 1);
    assertStringIncludes(stderr, `svc.sock has ${longest + 1} bytes`);
    assertStringIncludes(stderr, `at most ${longest}`);
    assertStringIncludes(stderr, "SVC_RUNTIME_DIR");
  }
  place.env.SVC_RUNTIME_DIR = dirOf(longest);
  await using client = await connect(await place.serve());
  await client.call("daemon.health");
});
