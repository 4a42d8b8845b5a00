/**
 * Control groups of commands (cgroup v2): the kernel holds a session's limits for all its commands
 * together. Needs a group delegated to the daemon, as the unit of `svc serve --install` requests.
 * The tree is `<daemon>/svc-<n>/<command>`. The daemon itself moves to a leaf beside it, because a
 * group with processes cannot pass controllers on.
 */
import { dirname, join } from "@std/path";
import type { KernelFiles } from "../os/kernel_files.ts";

/** Shared by a session's commands; 0 for no limit. */
export interface GroupLimits {
  memory_bytes: number;
  /** Processes and threads. */
  tasks: number;
}

/** The group of one command. */
export interface CommandGroup {
  /** A process that writes 0 to this file joins the group, with all its later children. */
  readonly join: string;
  /** Whether the kernel ended the command for its session's memory. */
  outOfMemory(): boolean;
  /** Removes the group, once it is empty. */
  remove(): void;
}

type Files = Pick<KernelFiles, "read" | "write">;

const NEEDED = ["memory", "pids"];
const OWN = "svc-daemon";

/** Tests use directories in their place. */
export interface GroupPlaces {
  /** File that names the daemon's group. */
  self: string;
  mount: string;
}

export function groupPlaces(pid: number): GroupPlaces {
  return { self: `/proc/${pid}/cgroup`, mount: "/sys/fs/cgroup" };
}

/**
 * Finds the group of a daemon. Changes nothing.
 *
 * @param pids the daemon's own processes
 * @returns its directory, or `{ why }`: a clause that says why it cannot be used
 */
export function delegatedGroup(
  files: Pick<KernelFiles, "read">,
  pids: readonly number[],
  { self, mount }: GroupPlaces,
): { directory: string } | { why: string } {
  const own = files.read(self)?.match(/^0::(\/.*)$/m)?.[1];
  if (own === undefined || files.read(join(mount, "cgroup.controllers")) === undefined) {
    return { why: "this machine does not use cgroup v2 alone" };
  }
  const directory = join(mount, own.endsWith(`/${OWN}`) ? dirname(own) : own);
  if (own === "/") return { why: "svc runs in the root group" };
  const controllers = files.read(join(directory, "cgroup.controllers"))?.trim().split(/\s+/) ?? [];
  const missing = NEEDED.filter((name) => !controllers.includes(name));
  if (missing.length > 0) {
    return { why: `the daemon's group lacks the controllers ${missing.join(" and ")}` };
  }
  if (!isWritable(directory)) return { why: "the daemon's group is not delegated to it" };
  const others = pidsIn(files, directory).filter((pid) => !pids.includes(pid));
  // A terminal's group is also writable, but its programs are not ours to move.
  return others.length === 0 ? { directory } : { why: "other programs are in the daemon's group" };
}

function pidsIn(files: Pick<KernelFiles, "read">, directory: string): number[] {
  return (files.read(join(directory, "cgroup.procs"))?.match(/\d+/g) ?? []).map(Number);
}

/** A delegated group belongs to the user who runs the daemon (systemd.resource-control(5)). */
function isWritable(directory: string): boolean {
  return ["", "cgroup.procs", "cgroup.subtree_control"].every((name) => {
    try {
      return Deno.statSync(join(directory, name)).uid === Deno.uid();
    } catch {
      return false;
    }
  });
}

export class CommandGroups {
  readonly #files: Files;
  readonly #directory: string;
  /** The group of each session, and its number of commands. */
  readonly #sessions = new Map<unknown, { path: string; count: number }>();
  /** Groups that could not be removed yet because their processes were still ending. */
  #left: string[] = [];
  #made = 0;

  private constructor(files: Files, directory: string) {
    this.#files = files;
    this.#directory = directory;
  }

  /** Prepares the subtree. @returns `undefined` if the kernel refuses */
  static open(
    files: Files,
    directory: string,
  ): CommandGroups | undefined {
    const own = join(directory, OWN);
    if (!made(own)) return undefined;
    for (const pid of pidsIn(files, directory)) {
      files.write(join(own, "cgroup.procs"), String(pid));
    }
    return passOn(files, directory) ? new CommandGroups(files, directory) : undefined;
  }

  /**
   * Makes the group of one command inside its session's, and sets the session's limits. @returns
   * `undefined` on failure; the command then runs without a group
   */
  begin(session: unknown, { memory_bytes, tasks }: GroupLimits): CommandGroup | undefined {
    const of = this.#sessions.get(session) ??
      { path: join(this.#directory, `svc-${++this.#made}`), count: 0 };
    if (of.count === 0 && !(made(of.path) && passOn(this.#files, of.path))) return undefined;
    const path = join(of.path, `${++this.#made}`);
    const held = made(path) &&
      this.#set(of.path, "memory.max", memory_bytes) &&
      this.#set(of.path, "pids.max", tasks);
    if (!held) {
      this.#remove(path, ...(of.count === 0 ? [of.path] : []));
      return undefined;
    }
    // Without swap there is no such file. At the limit the whole command ends, not one of its
    // processes.
    this.#files.write(join(of.path, "memory.swap.max"), memory_bytes > 0 ? "0" : "max");
    this.#files.write(join(path, "memory.oom.group"), "1");
    of.count++;
    this.#sessions.set(session, of);
    return {
      join: join(path, "cgroup.procs"),
      outOfMemory: () =>
        /^oom_(?:group_)?kill [1-9]/m.test(this.#files.read(join(path, "memory.events")) ?? ""),
      remove: () => {
        this.#files.write(join(path, "cgroup.kill"), "1");
        if (--of.count > 0) return this.#remove(path);
        this.#sessions.delete(session);
        this.#remove(path, of.path);
      },
    };
  }

  /** Removes groups, inner ones first, and retries earlier failures. */
  #remove(...paths: string[]): void {
    this.#left = [...this.#left, ...paths].filter((path) => !removed(path));
  }

  #set(path: string, file: string, limit: number): boolean {
    return this.#files.write(join(path, file), limit > 0 ? String(limit) : "max");
  }
}

/** Lets the groups inside of one use its controllers. */
function passOn(files: Pick<KernelFiles, "write">, directory: string): boolean {
  const controllers = NEEDED.map((name) => `+${name}`).join(" ");
  return files.write(join(directory, "cgroup.subtree_control"), controllers);
}

function made(path: string): boolean {
  try {
    Deno.mkdirSync(path, { recursive: true });
    return true;
  } catch {
    return false;
  }
}

function removed(path: string): boolean {
  try {
    Deno.removeSync(path);
    return true;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}
