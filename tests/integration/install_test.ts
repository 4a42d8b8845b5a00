/** install/install.sh, by the shells that are here, against releases that hold a script. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { programPath } from "../support/programs.ts";
import {
  flipped,
  makeRelease,
  ReleaseServer,
  scriptBinary,
  testSigner,
} from "../support/releases.ts";
import { can_run_svc, tests_source } from "../support/svc.ts";

const source = fromFileUrl(new URL("../../install/install.sh", import.meta.url));
// Nothing of it is the compiled binary.
const ignore = !can_run_svc || !tests_source || Deno.build.os === "windows";
const ARCHIVE = `svc-${Deno.build.target}.tar.gz`;

const SHELLS = ignore ? [] : ["dash", "bash", "busybox"].filter((shell) => programPath(shell));
/** What the script may use of a system. */
const TOOLS =
  "sh uname mktemp mkdir chmod mv ln cp rm rmdir cat sync sleep grep ls sysctl tar gzip";
const HASHES = "sha256sum shasum";

/** A person's home, a PATH with what is named, and a server with a release. */
class Machine implements AsyncDisposable {
  readonly home = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "svc-install-" }));
  readonly server = new ReleaseServer(join(this.home, "release"));
  readonly script = join(this.server.dir, "install.sh");

  static async make({ version = "0.2.0" } = {}): Promise<Machine> {
    const it = new Machine();
    await makeRelease({
      out: it.server.dir,
      version,
      signer: await testSigner(),
      binary: scriptBinary(version),
      base_url: it.server.base_url,
    });
    it.provide(`${TOOLS} ${HASHES} openssl curl`);
    return it;
  }

  /** Makes PATH hold these and nothing else. */
  provide(programs: string): void {
    const dir = join(this.home, "path");
    Deno.mkdirSync(dir, { recursive: true });
    for (const { name } of Deno.readDirSync(dir)) Deno.removeSync(join(dir, name));
    for (const program of programs.split(" ")) {
      const path = programPath(program);
      if (path !== undefined) Deno.symlinkSync(path, join(dir, program));
    }
  }

  /** Runs the script. */
  async run(
    args: string[],
    { shell = SHELLS[0], stdin, env = {} }: {
      shell?: string;
      stdin?: string;
      env?: Record<string, string>;
    } = {},
  ) {
    const first = shell === "busybox" ? ["sh"] : [];
    const child = new Deno.Command(programPath(shell)!, {
      args: [...first, ...(stdin === undefined ? [this.script] : ["-s", "--"]), ...args],
      env: { HOME: this.home, SHELL: "/bin/bash", PATH: join(this.home, "path"), ...env },
      clearEnv: true,
      cwd: "/",
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    // A script that ends at once does not read the rest.
    await writer.write(new TextEncoder().encode(stdin ?? "")).catch(() => {});
    await writer.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, said: text(stdout) + text(stderr) };
  }

  /** The files below a directory of the home. */
  files(dir = ".svc"): string[] {
    const found: string[] = [];
    const walk = (path: string) => {
      for (const { name, isDirectory } of Deno.readDirSync(join(this.home, path))) {
        if (isDirectory) walk(join(path, name));
        else found.push(join(path, name));
      }
    };
    try {
      walk(dir);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    return found.sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.home, { recursive: true });
  }
}

const INSTALLED = [".svc/bin/svc"];

for (const shell of SHELLS) {
  Deno.test({
    name: `install.sh installs, replaces and removes svc, run by ${shell}`,
    ignore,
    async fn() {
      await using it = await Machine.make();
      const first = await it.run([], { shell });
      assertEquals([first.code, it.files()], [0, INSTALLED], first.said);
      assertStringIncludes(first.said, "the signature is valid (checked by openssl)");
      assertStringIncludes(first.said, `export PATH='${it.home}/.svc/bin':"$PATH"`);
      const mode = (path: string) => Deno.statSync(join(it.home, path)).mode! & 0o777;
      assertEquals([mode(".svc"), mode(".svc/bin/svc")], [0o700, 0o755]);
      assertEquals(it.files(".").filter((name) => name === ".bashrc"), []);
      const piped = await it.run([], { shell, stdin: Deno.readTextFileSync(it.script) });
      assertEquals(piped.code, 0, piped.said);
      assertEquals(it.files(), [...INSTALLED, ".svc/bin/svc.previous"]);
      const removed = await it.run(["--uninstall"], { shell });
      assertEquals([removed.code, it.files()], [0, []], removed.said);
      assertStringIncludes(removed.said, "sessions, memory and settings stay");
    },
  });
}

Deno.test({
  name:
    "install.sh puts the directory on PATH only when it is told to, once, and takes it off again",
  ignore,
  async fn() {
    await using it = await Machine.make();
    const profile = join(it.home, ".bashrc");
    Deno.writeTextFileSync(profile, "# mine\n");
    for (let n = 0; n < 2; n++) assertEquals((await it.run(["--modify-path"])).code, 0);
    const line = `export PATH='${it.home}/.svc/bin':"$PATH" # svc\n`;
    assertEquals(Deno.readTextFileSync(profile), `# mine\n${line}`);
    assertEquals((await it.run(["--uninstall"])).code, 0);
    assertEquals(Deno.readTextFileSync(profile), "# mine\n");
  },
});

Deno.test({
  name: "install.sh takes a prefix; --purge removes the home with what is in it",
  ignore,
  async fn() {
    await using it = await Machine.make();
    const prefix = join(it.home, "some where");
    assertEquals((await it.run(["--prefix", prefix, "--version", "v0.2.0"])).code, 0);
    assertEquals(it.files("some where"), ["some where/bin/svc"]);
    Deno.mkdirSync(join(it.home, ".svc"));
    Deno.writeTextFileSync(join(it.home, ".svc", "state.db"), "");
    const { code, said } = await it.run(["--prefix", prefix, "--uninstall", "--purge"]);
    assertEquals([code, it.files("some where"), it.files()], [0, [], []], said);
  },
});

Deno.test({
  name: "install.sh --dry-run fetches and changes nothing",
  ignore,
  async fn() {
    await using it = await Machine.make();
    await Deno.remove(join(it.server.dir, "SHA256SUMS"));
    const { code, said } = await it.run(["--dry-run", "--modify-path"]);
    assertEquals([code, it.files()], [0, []], said);
    assertStringIncludes(said, `would download ${it.server.base_url}/latest/download/${ARCHIVE}`);
    assertStringIncludes(said, "would check its signature by openssl");
  },
});

Deno.test({
  name: "a script that is cut off does nothing, wherever that is",
  ignore,
  async fn() {
    await using it = await Machine.make();
    const whole = Deno.readTextFileSync(it.script);
    const last = whole.lastIndexOf("{ main");
    const ends = [...Array(12).keys()].map((n) => Math.floor((last * n) / 12));
    for (const end of [...ends, last, last + 4, last + 6, last + 10, last + 22]) {
      await it.run(["--modify-path"], { stdin: whole.slice(0, end) });
      assertEquals([end, it.files()], [end, []]);
    }
  },
});

interface Refused {
  name: string;
  /** What the machine has beside the common tools. */
  tools?: string;
  args?: string[];
  wrong?(it: Machine): void | Promise<void>;
  env?: Record<string, string>;
  code?: number;
  says: string;
}

const REFUSED: Refused[] = [
  {
    name: "a changed archive",
    wrong: ({ server }) => void server.faults.set(ARCHIVE, flipped),
    says: "the SHA-256 of",
  },
  {
    name: "changed checksums",
    wrong: ({ server }) => void server.faults.set("SHA256SUMS", flipped),
    says: "is not valid for the key of svc's releases (openssl)",
  },
  {
    name: "changed checksums, by ssh-keygen",
    tools: `${HASHES} ssh-keygen curl`,
    wrong: ({ server }) => void server.faults.set("SHA256SUMS", flipped),
    says: "is not valid for the key of svc's releases (ssh-keygen)",
  },
  {
    name: "to go on where nothing can check the signature",
    tools: `${HASHES} curl`,
    says: "cannot check the Ed25519 signature",
  },
  {
    name: "to go on without a downloader",
    tools: `${HASHES} openssl`,
    says: "install curl or wget",
  },
  {
    name: "another version than the one that is wanted",
    args: ["--version", "0.3.0"],
    says: "expected version 0.3.0",
  },
  {
    name: "plain http from another machine",
    args: ["--base-url", "http://example.com"],
    says: "must be an https address",
  },
  {
    name: "an address that only looks like this machine",
    args: ["--base-url", "http://127.0.0.1:80@example.com"],
    says: "must not contain credentials",
  },
  { name: "to be run by sudo", env: { SUDO_USER: "somebody" }, says: "without sudo" },
  { name: "an unknown argument", args: ["--frobnicate"], code: 2, says: "unknown argument" },
];

for (const { name, tools, args = [], wrong, env, code = 1, says } of REFUSED) {
  Deno.test({
    name: `install.sh refuses ${name}, and puts nothing in place`,
    ignore: ignore || (tools?.includes("ssh-keygen") && programPath("ssh-keygen") === undefined),
    async fn() {
      await using it = await Machine.make();
      if (tools !== undefined) it.provide(`${TOOLS} ${tools}`);
      await wrong?.(it);
      const ran = await it.run(args, { env });
      assertEquals([ran.code, it.files()], [code, []], ran.said);
      assertStringIncludes(ran.said, says);
    },
  });
}

Deno.test({
  name:
    "install.sh does with ssh-keygen for openssl and with wget for curl, and without both if told",
  ignore: ignore || !programPath("wget") || !programPath("ssh-keygen"),
  async fn() {
    await using it = await Machine.make();
    it.provide(`${TOOLS} ${HASHES} ssh-keygen wget`);
    const checked = await it.run([]);
    assertEquals([checked.code, it.files()], [0, INSTALLED], checked.said);
    assertStringIncludes(checked.said, "the signature is valid (checked by ssh-keygen)");
    it.provide(`${TOOLS} ${HASHES} wget`);
    const unchecked = await it.run(["--no-signature"]);
    assertEquals(unchecked.code, 0, unchecked.said);
    assertStringIncludes(unchecked.said, "the signature is NOT checked");
  },
});

Deno.test({
  name: "the script in the repository has no release address and says so",
  ignore,
  async fn() {
    await using it = await Machine.make();
    const { code, said } = await it.run([], { stdin: Deno.readTextFileSync(source) });
    assertEquals([code, it.files()], [1, []]);
    assertStringIncludes(said, "has no release address");
  },
});

Deno.test({
  name: "shellcheck has nothing against install.sh",
  ignore: ignore || programPath("shellcheck") === undefined,
  async fn() {
    const { success, stdout } = await new Deno.Command("shellcheck", {
      args: ["--shell=sh", source],
    }).output();
    assert(success, new TextDecoder().decode(stdout));
  },
});
