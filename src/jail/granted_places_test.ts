import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { hasProgram } from "../../tests/support/programs.ts";
import { grantedPlaces } from "./granted_places.ts";
import { type Grant, GRANTS, grantsText } from "./grants.ts";
import { detectSandbox } from "./sandbox.ts";
import { spawnArgv } from "./spawn.ts";

const runs = granted("run", "write", "env", "net", "sys");
const probe = runs ? await detectSandbox("auto") : undefined;
const ignore = probe?.kind !== "bubblewrap";
probe?.[Symbol.dispose]();
const has_curl = runs && hasProgram("curl");
const has_ssh = runs && ["ssh-agent", "ssh-add", "ssh-keygen"].every((name) => hasProgram(name));

/** A person with a home, and a session's directory. */
class Person implements AsyncDisposable {
  readonly root: string;
  readonly home: string;
  readonly workdir: string;
  readonly env: Record<string, string> = {};
  readonly #ends: (() => unknown)[] = [];

  constructor() {
    this.root = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "grants" }));
    this.home = this.#dir("home");
    this.workdir = this.#dir("work");
    this.#dir("home/.ssh");
    this.#dir("runtime");
  }

  #dir(name: string): string {
    const path = `${this.root}/${name}`;
    Deno.mkdirSync(path, { mode: 0o700 });
    return path;
  }

  /** Serves HTTP on a Unix socket. */
  serve(path: string, text: string): void {
    const server = Deno.serve({ path, onListen() {} }, () => new Response(text));
    this.#ends.push(() => server.shutdown());
  }

  /** Runs an SSH agent with one key, and returns its socket. */
  async agent(): Promise<string> {
    const path = `${this.root}/runtime/agent`;
    const agent = new Deno.Command("ssh-agent", {
      args: ["-D", "-a", path],
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#ends.push(async () => {
      agent.kill();
      await agent.status;
    });
    const key = `${this.home}/.ssh/id_ed25519`;
    await this.outside("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "the-key", "-f", key);
    for (;;) {
      const env = { SSH_AUTH_SOCK: path };
      const { success } = await new Deno.Command("ssh-add", { args: [key], env }).output();
      if (success) return this.env.SSH_AUTH_SOCK = path;
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  async outside(program: string, ...args: string[]): Promise<string> {
    return decode(await new Deno.Command(program, { args, env: this.env }).output());
  }

  /** Runs a command line in a sandbox. */
  async run(command: string, grants: readonly Grant[], writable: string[] = [this.workdir]) {
    const environment = {
      ...Deno.env.toObject(),
      XDG_RUNTIME_DIR: `${this.root}/runtime`,
      DOCKER_HOST: "",
      CONTAINER_HOST: "",
      DBUS_SESSION_BUS_ADDRESS: "",
      SSH_AUTH_SOCK: "",
      ...this.env,
      HOME: this.home,
    };
    using jail = await detectSandbox("bubblewrap", environment, undefined, () => writable);
    const { workdir } = this;
    const argv = jail.argv(command, { workdir, hidden: [], network: false, grants });
    const options = { cwd: workdir, stdin: "null", stdout: "piped", stderr: "piped" } as const;
    return decode(await spawnArgv(argv, options).output());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends) await end();
    await Deno.remove(this.root, { recursive: true });
  }
}

function decode({ stdout, stderr }: Deno.CommandOutput): string {
  return (new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)).trim();
}

const ASK = 'curl -s --unix-socket "${DOCKER_HOST#unix://}" http://d/ || echo refused';

Deno.test({
  name: "docker is reached by its grant alone, also where programs look without a variable",
  ignore: ignore || !has_curl,
  async fn() {
    await using person = new Person();
    const path = `${person.root}/runtime/some.sock`;
    person.serve(path, "I am Docker");
    person.env.DOCKER_HOST = `unix://${path}`;
    const control = await person.outside("curl", "-s", "--unix-socket", path, "http://d/");
    assertEquals(control, "I am Docker");
    const at_path = `curl -s --unix-socket ${path} http://d/ || echo refused`;
    assertEquals(await person.run(at_path, []), "refused");
    assertEquals(await person.run(ASK, []), "refused");
    assertEquals(await person.run(ASK, ["ssh-agent", "podman", "keyring", "gpu"]), "refused");
    assertEquals(await person.run(ASK, ["docker"]), "I am Docker");
    const usual = "curl -s --unix-socket /run/docker.sock http://d/";
    assertEquals(await person.run(usual, ["docker", "gpu"]), "I am Docker");
  },
});

Deno.test({
  name: "an agent signs for commands, and the files of the keys stay hidden",
  ignore: ignore || !has_ssh,
  async fn() {
    await using person = new Person();
    await person.agent();
    Deno.writeTextFileSync(`${person.home}/.ssh/known_hosts`, "example.com ssh-ed25519 AAAA\n");
    assertStringIncludes(await person.outside("ssh-add", "-l"), "the-key");
    assertMatch(await person.run("ssh-add -l", []), /authentication agent/);
    assertMatch(await person.run("ssh-add -l", ["docker"]), /authentication agent/);
    assertStringIncludes(await person.run("ssh-add -l", ["ssh-agent"]), "the-key");
    const look = `ls -a ${person.home}/.ssh; cat ${person.home}/.ssh/*; ` +
      `echo more >> ${person.home}/.ssh/known_hosts || echo kept`;
    const seen = await person.run(look, ["ssh-agent"]);
    assertStringIncludes(seen, "example.com ssh-ed25519 AAAA");
    assertStringIncludes(seen, "kept");
    assertEquals(/id_ed25519|PRIVATE KEY/.test(seen), false, seen);
    assertMatch(Deno.readTextFileSync(`${person.home}/.ssh/id_ed25519`), /PRIVATE KEY/);
  },
});

Deno.test({
  name: "a session cannot lead a grant to another socket",
  ignore: ignore || !has_curl,
  async fn() {
    await using person = new Person();
    const docker = `${person.root}/runtime/docker.sock`;
    person.serve(docker, "I am Docker");
    const ask = 'curl -s --unix-socket "$SSH_AUTH_SOCK" http://d/ || echo refused';
    // What a session could do to a socket in a directory of its own.
    person.env.SSH_AUTH_SOCK = `${person.workdir}/agent`;
    Deno.symlinkSync(docker, person.env.SSH_AUTH_SOCK);
    assertEquals(await person.run(ask, ["ssh-agent"], []), "I am Docker", "control");
    assertEquals(await person.run(ask, ["ssh-agent"]), "refused");
  },
});

Deno.test({
  name: "commands run as before where the machine has nothing of what is granted",
  ignore,
  async fn() {
    await using person = new Person();
    person.env.SSH_AUTH_SOCK = `${person.root}/missing`;
    assertEquals(await person.run("echo fine; echo $SSH_AUTH_SOCK", GRANTS), "fine");
  },
});

Deno.test({
  name: "variables lead to the sockets, and one for a server elsewhere to none",
  ignore: !runs || Deno.build.os === "windows",
  async fn() {
    await using person = new Person();
    const bus = `${person.root}/runtime/bus`;
    person.serve(bus, "");
    const look = (environment: Record<string, string>) =>
      grantedPlaces(["keyring", "docker"], {
        environment: { XDG_RUNTIME_DIR: `${person.root}/runtime`, ...environment },
        home: person.home,
        writable: [],
      });
    const away = { DOCKER_HOST: "tcp://127.0.0.1:1" };
    assertEquals(look(away).there, ["keyring"], "at its usual place");
    const named = `unix:path=${bus},guid=12;unix:abstract=/other`;
    assertEquals(look({ ...away, DBUS_SESSION_BUS_ADDRESS: named }).sockets[0].path, bus);
    const abstract = "unix:abstract=/tmp/dbus-1";
    assertEquals(look({ ...away, DBUS_SESSION_BUS_ADDRESS: abstract }).there, []);
    assertEquals(look({ DOCKER_HOST: `unix://${bus}` }).there, ["docker", "keyring"]);
    assertEquals(look({ DOCKER_HOST: `unix://${person.root}/home` }).there, ["keyring"]);
  },
});

Deno.test("a model is told what it has, and what is granted without being there", () => {
  const text = grantsText(["docker", "usb"], ["docker"]);
  assertEquals(
    text,
    "docker (Docker, at DOCKER_HOST); usb (granted, but not there on this machine)",
  );
  assert(!grantsText(["ssh-agent"], ["ssh-agent"]).includes("not there"));
});
