/**
 * Limits for all commands of a session together: memory, processes, and the size of their `/tmp`
 * and caches. With a delegated control group, the kernel enforces the memory limit too. Running
 * commands are watched, and one that exceeds a limit is ended with a message. A command that ends
 * before the first look costs nothing.
 */
import type { KernelFiles } from "../os/kernel_files.ts";
import { isInOwnNamespace } from "../os/process.ts";
import type { CommandGroup, CommandGroups } from "./command_groups.ts";
import { type CommandLimits, memoryLimit, taskLimit } from "./command_limits.ts";
import { CACHE_DIR, type CommandSpace } from "./command_space.ts";
import { memoryOf, type ProcessUse, threadsOf, useOf } from "./process_use.ts";
import { sizesOf, type SpaceSizes } from "./space_sizes.ts";

export interface LimitedBy {
  /** Commands of one session share limits; without it, a command has its own. */
  session_id?: string;
  space?: Pick<CommandSpace, "tmp" | "caches">;
  /** Directories it may have in memory; undefined without a sandbox. */
  scratch?: readonly string[];
}

/** A running command. Disposing of it ends the watch. */
export interface LimitedCommand extends Disposable {
  /** {@linkcode CommandGroup.join}, if there is a group. */
  readonly join?: string;
  /** Resolves with the reason to end it, a line for its output. */
  readonly over: Promise<string>;
  started(pid: number): void;
  /** Returns the reason if the kernel ended it. Call it after the end. */
  ended(): string | undefined;
}

export interface SessionLimitsParts {
  limits(): CommandLimits;
  files: KernelFiles;
  groups?: CommandGroups;
  /** Real paths that sessions can write; nothing is run from there. */
  writable(): readonly string[];
}

/** How often commands are checked, and how old one is at its first check. */
const INTERVAL_MS = 250;
/** Minimum time between measurements of a session's directories. */
const MEASURE_MS = 2_000;
/** The same, at the end of commands. */
const MEASURE_AFTER_MS = 10_000;
/** Time until a size over the limit is confirmed. */
const CONFIRM_MS = 300;
/** Share of the time that checks may take. */
const SHARE = 1 / 20;
/** Time for an ended command to go before another one is ended. */
const ENDING_MS = 2_000;
/**
 * Processes of svc around a command: the guard; with a sandbox also the shell and the outer bwrap.
 */
const [GUARD, GUARD_AND_JAIL] = [1, 3];
const MIB = 1024 * 1024;

/** How much a command takes of a limit. */
interface Share {
  command: Running;
  amount: number;
}

interface Running {
  readonly scratch: readonly string[] | undefined;
  readonly end: (message: string) => void;
  pid?: number;
  since: number;
  /** The session's sizes before it. */
  held?: SpaceSizes;
  ended_at: number;
}

class Session {
  readonly running = new Set<Running>();
  space: LimitedBy["space"];
  /** From the last measurement. */
  sizes: SpaceSizes | undefined;
  measured_at = -Infinity;
  measure_at = -Infinity;
  measuring = false;
}

/** The limits of all sessions. Disposing of it ends the watch and closes `files`. */
export class SessionLimits implements Disposable {
  readonly #parts: SessionLimitsParts;
  readonly #sessions = new Map<unknown, Session>();
  /** Sessions with a running command. */
  readonly #active = new Set<Session>();
  #machine_mb = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: SessionLimitsParts) {
    this.#parts = parts;
  }

  /** Prepares the limits of a command that is about to start. */
  begin({ session_id, space, scratch }: LimitedBy): LimitedCommand {
    const key = session_id ?? Symbol();
    const session = this.#sessions.get(key) ?? new Session();
    this.#sessions.set(key, session);
    // A command outside the sandbox has no directories of its own.
    session.space = space ?? session.space;
    const limits = this.#parts.limits();
    const group = this.#parts.groups?.begin(key, {
      memory_bytes: this.#memoryLimit(),
      tasks: taskLimit(limits),
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    const command: Running = {
      scratch,
      end: resolve,
      since: Infinity,
      held: session.sizes,
      ended_at: -Infinity,
    };
    return {
      join: group?.join,
      over: promise,
      started: (pid) => {
        command.pid = pid;
        command.since = performance.now();
        session.running.add(command);
        this.#active.add(session);
        this.#timer ??= setTimeout(() => this.#look(), INTERVAL_MS);
      },
      ended: () => group?.outOfMemory() ? memoryText(this.#memoryLimit()) : undefined,
      [Symbol.dispose]: () => this.#end(key, session, command, group),
    };
  }

  forget(session_id: string): void {
    this.#sessions.delete(session_id);
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.#parts.files[Symbol.dispose]();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #end(key: unknown, session: Session, command: Running, group: CommandGroup | undefined): void {
    session.running.delete(command);
    group?.remove();
    if (typeof key === "symbol") this.#sessions.delete(key);
    // So that the next command is not blamed for what this one left.
    else if (this.#isDue(session)) void this.#measure(session);
    if (session.running.size === 0) this.#active.delete(session);
    if (this.#active.size === 0) this.#stop();
  }

  /** Reports whether to measure the directories at the end of a command. */
  #isDue({ sizes, measured_at }: Session): boolean {
    return performance.now() - measured_at > MEASURE_AFTER_MS ||
      (sizes !== undefined && overfull(sizes, this.#parts.limits()) !== undefined);
  }

  #memoryLimit(): number {
    // Unreadable while the daemon has no free descriptor.
    this.#machine_mb ||= machineMemory(this.#parts.files);
    return memoryLimit(this.#parts.limits(), this.#machine_mb) * MIB;
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const session of this.#active) {
      // Commands of the last tick wait for the next: the timer is shared, and most commands are
      // short.
      const old = [...session.running].filter(({ since }) => now - since >= INTERVAL_MS / 2);
      if (old.length === 0) continue;
      const over = this.#overProcesses(old);
      if (over !== undefined) endGreatest(over.shares, over.text);
      else void this.#measure(session);
    }
    const wait = Math.max(INTERVAL_MS, (performance.now() - now) / SHARE);
    this.#timer = setTimeout(() => this.#look(), wait);
  }

  /** Returns the commands over a limit of processes or memory. */
  #overProcesses(commands: readonly Running[]): { shares: Share[]; text: string } | undefined {
    const { files, limits } = this.#parts;
    const reading = { read: (path: string) => files.read(path), threads: threadsOf };
    const { max_processes } = limits();
    const most = max_processes > 0 ? max_processes + GUARD_AND_JAIL + 1 : Infinity;
    const uses = commands.map((command) => ({ command, use: useOf(reading, command.pid!, most) }));
    const counts = uses.map(({ command, use }) => ({ command, amount: processesOf(command, use) }));
    if (max_processes > 0 && total(counts) > max_processes) {
      return { shares: counts, text: processesText(max_processes) };
    }
    const limit = this.#memoryLimit();
    if (limit === 0) return undefined;
    const memory = (bytes: (use: ProcessUse) => number) =>
      uses.map(({ command, use }) => ({
        command,
        amount: bytes(use) + scratchUse(files, command, use),
      }));
    if (total(memory(({ memory_max }) => memory_max)) <= limit) return undefined;
    const exact = memory(({ pids }) => memoryOf(reading, pids));
    const used = total(exact);
    return used > limit ? { shares: exact, text: memoryText(limit, used) } : undefined;
  }

  /** Measures the directories of a session if due, and ends what overfills them. */
  async #measure(session: Session): Promise<void> {
    const { space, measuring, measure_at } = session;
    if (space === undefined || measuring || performance.now() < measure_at) return;
    const { max_tmp_mb, max_cache_mb } = this.#parts.limits();
    if (max_tmp_mb === 0 && max_cache_mb === 0) return;
    const began = performance.now();
    session.measuring = true;
    const before = session.sizes;
    const sizes = await sizesOf(space, this.#parts.writable()).catch(() => undefined);
    session.measuring = false;
    const took = performance.now() - began;
    session.sizes = sizes ?? before;
    session.measured_at = performance.now();
    session.measure_at = session.measured_at + Math.max(MEASURE_MS, took / SHARE);
    if (sizes === undefined) return;
    const over = overfull(sizes, { max_tmp_mb, max_cache_mb });
    if (over === undefined) return;
    // Ends only a command that has added files and is not removing them.
    const grew = before === undefined || sizes[over.which] >= before[over.which];
    const blamed = [...session.running].filter(({ held }) =>
      held === undefined || sizes[over.which] > held[over.which]
    );
    if (before !== undefined && grew) {
      endGreatest(blamed.map((command) => ({ command, amount: command.since })), over.text);
    }
    session.measure_at = performance.now() + CONFIRM_MS;
  }
}

/** Ends the command with the greatest amount, unless one is already ending. */
function endGreatest(shares: readonly Share[], text: string): void {
  const now = performance.now();
  if (shares.some(({ command }) => now - command.ended_at < ENDING_MS)) return;
  const [greatest] = [...shares].sort((one, other) => other.amount - one.amount);
  if (greatest === undefined) return;
  greatest.command.ended_at = now;
  greatest.command.end(text);
}

/** Returns the machine's memory in MiB; 0 if unknown. */
export function machineMemory(files: Pick<KernelFiles, "read">): number {
  const [, kib = "0"] = files.read("/proc/meminfo")?.match(/^MemTotal:\s+(\d+) kB$/m) ?? [];
  return Math.floor(Number(kib) / 1024);
}

function processesOf({ scratch }: Running, { pids }: ProcessUse): number {
  return Math.max(pids.length - (scratch === undefined ? GUARD : GUARD_AND_JAIL), 0);
}

/** Returns the bytes of files that a command keeps in memory. */
function scratchUse(
  files: KernelFiles,
  { scratch = [] }: Running,
  { pids }: ProcessUse,
): number {
  const inside = scratch.length > 0 ? pids.findLast((pid) => !isInOwnNamespace(pid)) : undefined;
  if (inside === undefined) return 0;
  return scratch.reduce((bytes, path) => {
    const seen = `/proc/${inside}/root${path}`;
    // It may be a mount of the machine itself.
    return sameDevice(seen, path) ? bytes : bytes + files.usedInMemory(seen);
  }, 0);
}

function sameDevice(one: string, other: string): boolean {
  try {
    return Deno.statSync(one).dev === Deno.statSync(other).dev;
  } catch {
    return false;
  }
}

function overfull(
  sizes: SpaceSizes,
  { max_tmp_mb, max_cache_mb }: Pick<CommandLimits, "max_tmp_mb" | "max_cache_mb">,
): { which: keyof SpaceSizes; text: string } | undefined {
  const limits = { tmp: max_tmp_mb, caches: max_cache_mb };
  const which = (["tmp", "caches"] as const)
    .find((each) => limits[each] > 0 && sizes[each] > limits[each] * MIB);
  if (which === undefined) return undefined;
  const [name, key] = which === "tmp"
    ? ["the /tmp of this session", "max_tmp_mb"]
    : [`the caches of this directory, ${CACHE_DIR},`, "max_cache_mb"];
  const may = `may hold ${limits[which]} MB`;
  return { which, text: ended(`${name} held ${mb(sizes[which])} MB and ${may}`, key) };
}

function total(shares: readonly { amount: number }[]): number {
  return shares.reduce((sum, { amount }) => sum + amount, 0);
}

function processesText(limit: number): string {
  const what = `the commands of this session had more than ${limit} processes`;
  return ended(what, "max_processes");
}

function memoryText(limit: number, used?: number): string {
  const may = `${mb(limit)} MB`;
  const did = used === undefined
    ? `used all of the ${may} of memory that they may use together`
    : `used ${mb(used)} MB of memory together and may use ${may}`;
  return ended(`the commands of this session ${did}`, "max_memory_mb");
}

function ended(what: string, key: string): string {
  return `[svc ended this command: ${what}; ${key} under [sandbox] in daemon.toml sets the limit]`;
}

function mb(bytes: number): number {
  return Math.round(bytes / MIB);
}
