/**
 * Clients find the daemon of their own home and no other, whatever their environment lacks, and trust
 * no socket, directory or record that another user could have written.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { everyonesTemp, forEveryone } from "../support/everyone.ts";
import { granted } from "../support/permissions.ts";
import { firstLine } from "../support/processes.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const NOBODY = 65534;
const ignore = !can_run_svc || Deno.build.os === "windows";
const as_root = Deno.build.os === "linux" && granted("sys") && Deno.uid() === 0;

/** A place whose daemon is found by HOME, as a person's is. */
class Person extends Place {
  readonly dot_svc: string;

  constructor(name = "person") {
    super({}, { parent: everyonesTemp() });
    const home = this.mkdir(name);
    this.dot_svc = join(home, ".svc");
    delete this.env.SVC_HOME;
    this.env.HOME = home;
    this.env.TMPDIR = this.mkdir("tmp");
  }

  /** A private directory for sockets. */
  runtimeDir(): string {
    const path = this.mkdir("runtime");
    Deno.chmodSync(path, 0o700);
    return path;
  }

  list(env: Record<string, string | undefined> = {}) {
    return this.with(env, () => this.svc(["ctl", "sessions", "list", "--json"]));
  }

  /** Runs something with variables set, or unset. */
  async with<T>(env: Record<string, string | undefined>, run: () => Promise<T>): Promise<T> {
    const before = { ...this.env };
    for (const [name, value] of Object.entries(env)) {
      if (value === undefined) delete this.env[name];
      else this.env[name] = value;
    }
    try {
      return await run();
    } finally {
      for (const name of Object.keys(this.env)) delete this.env[name];
      Object.assign(this.env, before);
    }
  }
}

Deno.test({
  name: "a client with HOME, PATH and USER alone reaches the daemon, and starts no second",
  ignore,
  async fn() {
    await using person = new Person();
    const runtime = person.runtimeDir();
    const daemon = await person.with({ XDG_RUNTIME_DIR: runtime }, () => person.serve());
    assertEquals(daemon.sock, join(runtime, "svc", "svc.sock"));
    const { code, stdout, stderr } = await person.list();
    assertEquals([code, JSON.parse(stdout)], [0, { sessions: [] }], stderr);
    const asked = await person.svc(["chat", "-p", "help", "-m", "builtin/toolbelt"]);
    assertEquals(asked.code, 0, asked.stderr);
    assert(!asked.stderr.includes("starting"), asked.stderr);
    const second = await person.svc(["serve"]);
    assertEquals(second.code, 1);
    assertStringIncludes(second.stderr, daemon.sock);
    assertStringIncludes(second.stderr, String(daemon.pid));
  },
});

Deno.test({
  name: "the daemon of another HOME is never answered by, though it has the socket",
  ignore: ignore || Deno.build.os !== "linux",
  async fn() {
    await using person = new Person();
    person.env.XDG_RUNTIME_DIR = person.runtimeDir();
    const daemon = await person.serve();
    const other = { HOME: person.mkdir("other") };
    const alone = await person.list(other);
    assertEquals(alone.code, 1);
    assertStringIncludes(alone.stderr, "no daemon is running");
    // Not by a copy of its record either.
    Deno.mkdirSync(join(other.HOME, ".svc"), { mode: 0o700 });
    const record = join(other.HOME, ".svc", "daemon.json");
    Deno.copyFileSync(join(person.dot_svc, "daemon.json"), record);
    Deno.chmodSync(record, 0o600);
    assertEquals((await person.list(other)).code, 1);
    assertEquals((await person.list()).code, 0);
    // Without its own record it is still found, at the path that both compute.
    Deno.removeSync(join(person.dot_svc, "daemon.json"));
    assertEquals((await person.list()).code, 0);
    await daemon.kill();
  },
});

/** A socket that answers as a daemon would, and counts who came. */
function impostor(path: string): { asked(): number } & AsyncDisposable {
  const listener = Deno.listen({ transport: "unix", path });
  let asked = 0;
  const serving = (async () => {
    for await (const conn of listener) {
      asked++;
      const answer = '{"jsonrpc":"2.0","id":1,"result":{"sessions":[]}}\n';
      await conn.write(new TextEncoder().encode(answer)).catch(() => {});
      conn.close();
    }
  })();
  return {
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

Deno.test({
  name: "a socket is not connected to where another user may have put it",
  ignore,
  async fn() {
    await using person = new Person();
    const dir = join(person.env.TMPDIR, `svc-${Deno.uid()}`);
    const path = join(dir, "svc.sock");
    Deno.mkdirSync(dir, { mode: 0o700 });
    Deno.chmodSync(dir, 0o700);
    await using there = impostor(path);
    const refused = async (why: string) => {
      const { code, stderr } = await person.list();
      assertEquals([code, there.asked()], [1, 0], why);
      assertStringIncludes(stderr, why);
    };
    Deno.chmodSync(path, 0o666);
    await refused("wider than 0600");
    Deno.chmodSync(path, 0o600);
    Deno.chmodSync(dir, 0o777);
    await refused("wider than 0700");
    Deno.chmodSync(dir, 0o700);
    Deno.renameSync(dir, `${dir}.moved`);
    Deno.symlinkSync(`${dir}.moved`, dir);
    await refused("symbolic link");
    Deno.removeSync(dir);
    if (as_root) {
      Deno.renameSync(`${dir}.moved`, dir);
      Deno.chownSync(dir, NOBODY, NOBODY);
      await refused(`belongs to uid ${NOBODY}`);
    }
    // The probe works: a record of ours that others may write is what is wrong with this one.
    Deno.mkdirSync(person.dot_svc, { mode: 0o700 });
    const record = join(person.dot_svc, "daemon.json");
    const sock = join(`${dir}.moved`, "svc.sock");
    Deno.writeTextFileSync(record, JSON.stringify({ sock, port: 1, token: "", pid: Deno.pid }));
    Deno.chmodSync(record, 0o666);
    await refused("wider than 0600");
  },
});

Deno.test({
  name: "a daemon that another user runs is not spoken to, at a socket of ours",
  ignore: ignore || !as_root,
  async fn() {
    await using person = new Person();
    const dir = join(person.env.TMPDIR, `svc-${Deno.uid()}`);
    const path = join(dir, "svc.sock");
    Deno.mkdirSync(dir);
    Deno.chownSync(dir, NOBODY, NOBODY);
    for (const open of [person.dir, person.env.TMPDIR]) Deno.chmodSync(open, 0o755);
    const script = `const listener = Deno.listen({ transport: "unix", path: ${
      JSON.stringify(path)
    } });
      console.log("listening");
      for await (const conn of listener) {
        const bytes = new Uint8Array(1024);
        const size = await conn.read(bytes);
        console.log("heard " + new TextDecoder().decode(bytes.subarray(0, size ?? 0)));
        conn.close();
      }`;
    const deno_dir = person.mkdir("deno");
    Deno.chmodSync(deno_dir, 0o777);
    const child = new Deno.Command(forEveryone(Deno.execPath()), {
      args: ["eval", "--no-config", script],
      env: { DENO_DIR: deno_dir, PATH: "/usr/bin:/bin", NO_COLOR: "1" },
      clearEnv: true,
      cwd: "/",
      uid: NOBODY,
      gid: NOBODY,
      stdout: "piped",
      stderr: "null",
    }).spawn();
    try {
      assertEquals(await firstLine(child), "listening");
      for (const own of [dir, path]) Deno.chownSync(own, 0, 0);
      Deno.chmodSync(dir, 0o700);
      Deno.chmodSync(path, 0o600);
      const { code, stderr } = await person.list();
      assertEquals(code, 1);
      assertStringIncludes(stderr, `uid ${NOBODY} is listening at ${path}`);
      assertEquals(await firstLine(child), "heard ");
    } finally {
      child.kill("SIGKILL");
      await child.status;
      await child.stdout.cancel().catch(() => {});
    }
  },
});
