/** A systemd for one test: the user instance of a place, with a runtime directory of its own. */
import { basename, join } from "@std/path";
import { delay } from "@std/async";
import { shellQuote } from "../../src/base/shell_quote.ts";
import { exists } from "../../src/os/files.ts";
import { runProgram } from "../../src/os/program.ts";
import { noted } from "./lacking.ts";
import { LOOPBACKS } from "./loopback.ts";
import { granted } from "./permissions.ts";
import { isolateUser } from "./service_manager.ts";
import { until } from "./scripted.ts";
import { can_run_svc, type Place, svcCommand, tests_binary } from "./svc.ts";

const SYSTEMD = "/usr/lib/systemd/systemd";
/** Bit of CAP_SYS_ADMIN in the capability sets of /proc/self/status: mounting needs it. */
const CAP_SYS_ADMIN = 1n << 21n;

/** Whether a systemd of its own can be started here. */
export const can_run_systemd = can_run_svc && Deno.build.os === "linux" && granted("sys") &&
  noted(Deno.uid() === 0, "root") && noted(exists(SYSTEMD), "systemd") &&
  noted(exists("/usr/bin/unshare"), "unshare") && noted(mayMount(), "mount, as root");

/**
 * systemd runs only where it finds a booted system and a cgroup tree: it gets both in a mount
 * namespace, below a cgroup of its own.
 */
const ENTER = `set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir "/sys/fs/cgroup/$1"
echo $$ >"/sys/fs/cgroup/$1/cgroup.procs"
exec unshare --cgroup sh -ec '
umount /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec ${SYSTEMD} --user --log-target=null'
`;
/** Ends what is left in the cgroup, and removes it. */
const CLEAN = `mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd "/sys/fs/cgroup/$1" || exit 0
echo 1 >cgroup.kill
cd ..
until find "$1" -depth -type d -exec rmdir {} + 2>/dev/null; do sleep 0.05; done`;

/** The systemd of a place's user. */
export class UserSystemd implements AsyncDisposable {
  readonly #place: Place;
  readonly #child: Deno.ChildProcess;
  readonly #cgroup: string;

  private constructor(place: Place, child: Deno.ChildProcess, cgroup: string) {
    this.#place = place;
    this.#child = child;
    this.#cgroup = cgroup;
  }

  /** Starts it, and gives the place an installed binary: the tested one. */
  static async start(place: Place): Promise<UserSystemd> {
    isolateUser(place);
    installBinary(place);
    const cgroup = basename(place.dir);
    const { PATH, HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR } = place.env;
    const child = new Deno.Command("unshare", {
      args: ["--mount", "sh", "-c", ENTER, "sh", cgroup],
      env: { PATH, HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR },
      clearEnv: true,
      cwd: "/",
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const systemd = new UserSystemd(place, child, cgroup);
    let ended = false;
    child.status.then(() => ended = true);
    while (!(await systemd.systemctl("show", "--property=Version")).success) {
      if (ended) throw new Error("the test's systemd has ended");
      await delay(20);
    }
    return systemd;
  }

  /** Runs `systemctl --user` on it. */
  async systemctl(...args: string[]) {
    const { success, stdout, stderr } = await new Deno.Command("systemctl", {
      args: ["--user", ...args],
      env: this.#place.env,
      clearEnv: true,
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    return { success, stdout: text(stdout), stderr: text(stderr) };
  }

  /** A property of svc's unit. */
  async show(property: string): Promise<string> {
    return (await this.systemctl("show", "svc.service", `--property=${property}`, "--value"))
      .stdout;
  }

  /** Waits until it holds the daemon's port, in each family. */
  async stored(): Promise<void> {
    const held = `${LOOPBACKS.length}`;
    await until(async () => await this.show("NFileDescriptorStore") === held, "a held port");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
    await runProgram("unshare", ["--mount", "sh", "-c", CLEAN, "sh", this.#cgroup], []);
  }
}

/** Puts the tested program where `svc update` puts the binary. */
function installBinary(place: Place): void {
  const bin = join(place.home, "bin");
  Deno.mkdirSync(place.home, { recursive: true, mode: 0o700 });
  Deno.mkdirSync(bin, { mode: 0o700 });
  const [program, first] = svcCommand();
  const path = join(bin, "svc");
  if (tests_binary) return Deno.symlinkSync(program, path);
  const variables = ["DENO_DIR", "DENO_TLS_CA_STORE"]
    .filter((name) => place.env[name] !== undefined)
    .map((name) => `export ${name}=${shellQuote(place.env[name])}\n`).join("");
  const command = [program, ...first].map(shellQuote).join(" ");
  Deno.writeTextFileSync(path, `#!/bin/sh\n${variables}exec ${command} "$@"\n`, { mode: 0o700 });
}

function mayMount(): boolean {
  const [, effective] = Deno.readTextFileSync("/proc/self/status").match(/^CapEff:\s*(\w+)/m) ?? [];
  return (BigInt(`0x${effective}`) & CAP_SYS_ADMIN) !== 0n;
}
