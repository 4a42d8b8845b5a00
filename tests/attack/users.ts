/**
 * The two people of an attack: the victim, whose daemon it is, and another user of the same machine.
 * Both are real, unprivileged users, so that what stops the attacker is the system and svc, not the
 * test. Only root can set them up; anyone else is the victim, and there is no attacker.
 */
import { dirname, join } from "@std/path";
import { which } from "../../src/os/which.ts";
import { can_run_svc } from "../support/svc.ts";
import { granted } from "../support/permissions.ts";
import { noted } from "../support/lacking.ts";
import { hasProgram } from "../support/programs.ts";

const decoder = new TextDecoder();

/** Where the programs are that others than root have too. */
const EVERYONES_PATH = "/usr/local/bin:/usr/bin:/bin";

const EXCHANGE = `
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
s.settimeout(2)
s.sendall(sys.stdin.buffer.read())
try:
    while data := s.recv(65536): sys.stdout.buffer.write(data)
except OSError: pass
`;

/** How a program ended. */
export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  stdin?: string;
  cwd?: string;
  /** Ends it, with SIGKILL. */
  timeout_ms?: number;
}

/** Someone on this machine. */
export class User {
  readonly name: string;
  /** Undefined: the user who runs the tests. */
  readonly ids: { uid: number; gid: number } | undefined;
  /** A directory of theirs that others may look into, as many systems make it. */
  readonly home: string;

  constructor(name: string, ids: { uid: number; gid: number } | undefined, home: string) {
    this.name = name;
    this.ids = ids;
    this.home = home;
    this.mkdir(home);
  }

  get uid(): number {
    return this.ids?.uid ?? Deno.uid()!;
  }

  /** The environment that a login gives. */
  get login(): Record<string, string> {
    const PATH = this.ids === undefined ? Deno.env.get("PATH") : undefined;
    const { home: HOME, name } = this;
    return { PATH: PATH ?? EVERYONES_PATH, HOME, USER: name, LOGNAME: name, LANG: "C.UTF-8" };
  }

  /** A program that runs as this user, with no more of the environment than a login gives. */
  command(program: string, args: readonly string[], options: Deno.CommandOptions = {}) {
    const { env = {}, ...rest } = options;
    return new Deno.Command(program, {
      cwd: this.home,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      ...rest,
      ...this.ids,
      args: [...args],
      clearEnv: true,
      env: { ...this.login, ...env },
    });
  }

  /** Runs a program to its end. */
  async run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const { stdin, timeout_ms = 60_000, env, cwd = this.home } = options;
    const child = this.command(program, args, {
      env,
      cwd,
      stdin: stdin === undefined ? "null" : "piped",
    }).spawn();
    const timer = killLater(child, timeout_ms);
    if (stdin !== undefined) {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(stdin)).catch(() => {});
      await writer.close().catch(() => {});
    }
    const { code, stdout, stderr } = await child.output();
    clearTimeout(timer);
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  }

  /** Whether a line of shell ends with 0. */
  async can(line: string, options: RunOptions = {}): Promise<boolean> {
    return (await this.run("/bin/sh", ["-c", line], options)).code === 0;
  }

  /** Runs a line of shell; what it printed, both streams together. */
  async sh(line: string, options: RunOptions = {}): Promise<string> {
    const { stdout, stderr } = await this.run("/bin/sh", ["-c", line], options);
    return stdout + stderr;
  }

  /** Runs a program of Python; what it printed, both streams together. */
  async python(source: string, args: readonly string[] = [], options: RunOptions = {}) {
    const { stdout, stderr } = await this.run("python3", ["-c", source, ...args], options);
    return stdout + stderr;
  }

  /** Sends bytes to a port of this machine; what came back until the end, or a pause of 2 s. */
  async exchange(port: number, request: string): Promise<string> {
    return (await this.run("python3", ["-c", EXCHANGE, String(port)], { stdin: request })).stdout;
  }

  /** Gives a file to this user. */
  own(path: string): void {
    if (this.ids !== undefined) Deno.chownSync(path, this.ids.uid, this.ids.gid);
  }

  /** Makes a directory that is theirs, with those above it that are missing. */
  mkdir(path: string, mode = 0o755): string {
    if (!exists(dirname(path))) this.mkdir(dirname(path), mode);
    if (!exists(path)) {
      Deno.mkdirSync(path, { mode });
      Deno.chmodSync(path, mode);
      this.own(path);
    }
    return path;
  }

  /** Writes a file that is theirs. */
  write(path: string, text: string, mode = 0o600): string {
    this.mkdir(dirname(path));
    Deno.writeTextFileSync(path, text);
    Deno.chmodSync(path, mode);
    this.own(path);
    return path;
  }

  /** Makes a git repository with one commit, as this user. */
  async repository(root: string, files: Record<string, string> = { "a.txt": "one\n" }) {
    this.mkdir(root);
    for (const [name, text] of Object.entries(files)) this.write(join(root, name), text, 0o644);
    await this.git(root, "init", "--quiet", "--initial-branch=main");
    await this.git(root, "add", "--all");
    await this.git(root, "commit", "--quiet", "--allow-empty", "-m", "first");
    return root;
  }

  /** Runs git as this user. @throws with what it said when it fails. */
  async git(root: string, ...args: string[]): Promise<string> {
    const as = ["-c", "user.name=Victim", "-c", "user.email=victim@example.org"];
    const env = { GIT_CONFIG_NOSYSTEM: "1" };
    const { code, stdout, stderr } = await this.run("git", [...as, ...args], { cwd: root, env });
    if (code !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  }
}

/** Ends a process in a while, if it has not ended by then. */
export function killLater(child: Deno.ChildProcess, timeout_ms: number): number {
  return setTimeout(() => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has; one that it started keeps its output open.
    }
  }, timeout_ms);
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

const VICTIM = "svc-victim";
const ATTACKER = "svc-attacker";

const may_be_others = can_run_svc && granted("sys") && Deno.build.os === "linux" &&
  noted(Deno.uid() === 0, "root");

/** Whether the people of an attack have a program. */
export function peopleHave(name: string): boolean {
  return may_be_others
    ? noted(which(name, EVERYONES_PATH) !== undefined, `${name} for every user`)
    : hasProgram(name);
}

/** Whether this run can be two unprivileged users. */
export const has_two_users = may_be_others && hasProgram("useradd") && peopleHave("python3");

/**
 * Both people, with homes below a directory. The attacker only where the run may be somebody else.
 *
 * @param own_user whether the victim is the user who runs the tests; then there is no attacker
 */
export function people(
  dir: string,
  own_user = false,
): { victim: User; attacker: User | undefined } {
  const [victim, attacker] = [join(dir, "victim"), join(dir, "attacker")];
  if (!has_two_users || own_user) {
    return { victim: new User("victim", undefined, victim), attacker: undefined };
  }
  return {
    victim: new User(VICTIM, account(VICTIM), victim),
    attacker: new User(ATTACKER, account(ATTACKER), attacker),
  };
}

/** The ids of an account, which is made if it is not there: without a login, a group or a home. */
function account(name: string): { uid: number; gid: number } {
  for (let tries = 0; tries < 100; tries++) {
    const line = Deno.readTextFileSync("/etc/passwd").split("\n")
      .find((it) => it.startsWith(`${name}:`));
    if (line !== undefined) {
      const [, , uid, gid] = line.split(":");
      return { uid: Number(uid), gid: Number(gid) };
    }
    // Another file of these tests may be doing the same; then the next look finds it.
    const args = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"];
    new Deno.Command("useradd", {
      args: [...args, "--shell", "/usr/sbin/nologin", name],
      stdout: "null",
      stderr: "null",
    }).outputSync();
  }
  throw new Error(`useradd made no account ${name}`);
}
