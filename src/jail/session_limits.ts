/**
 * Limits that hold for all commands of a session together: their memory, their processes, and the
 * size of what they keep in the session's `/tmp` and caches. Where a control group is delegated to
 * the daemon, the kernel holds the memory too; everything is watched while a command runs, and what
 * goes over a limit is ended, with a message. A command that ends before the first look costs
 * nothing.
 */
import type { KernelFiles } from "../os/kernel_files.ts";
import { isInOwnNamespace } from "../os/process.ts";
import type { CommandGroup, CommandGroups } from "./command_groups.ts";
import { type CommandLimits, memoryLimit, taskLimit } from "./command_limits.ts";
import { CACHE_DIR, type CommandSpace } from "./command_space.ts";
import { memoryOf, type ProcessUse, threadsOf, useOf } from "./process_use.ts";
import { sizesOf, type SpaceSizes } from "./space_sizes.ts";

/** Whose command it is, and where it runs. */
export interface LimitedBy {
  /** Commands of one session share limits; without it, a command has them for itself. */
  session_id?: string;
  space?: Pick<CommandSpace, "tmp" | "caches">;
  /** The directories that it may have in memory; undefined for a command without a sandbox. */
  scratch?: readonly string[];
}

/** One command while it runs. Disposing of it ends the watch. */
export interface LimitedCommand extends Disposable {
  /** As {@linkcode CommandGroup.join}, where there is a group. */
  readonly join?: string;
  /** Resolves with why it has to be ended, as a line for its output. */
  readonly over: Promise<string>;
  /** Begins to watch it. */
  started(pid: number): void;
  /** Returns why the kernel ended it, if the kernel did; to be called when it has ended. */
  ended(): string | undefined;
}

export interface SessionLimitsParts {
  limits(): CommandLimits;
  files: KernelFiles;
  groups?: CommandGroups;
  /** Real paths of the directories that sessions can write: nothing is run from there. */
  writable(): readonly string[];
}

/** How often commands are looked at, and how old one is at its first look. */
const INTERVAL_MS = 250;
/** How often, at most, the directories of a session are measured. */
const MEASURE_MS = 2_000;
/** The same, at the end of commands. */
const MEASURE_AFTER_MS = 10_000;
/** How soon a size over the limit is confirmed. */
const CONFIRM_MS = 300;
/** The part of the time that looking may take. */
const SHARE = 1 / 20;
/** How long what was ended may take to go before something else is ended. */
const ENDING_MS = 2_000;
/** The guard of a command; of one in a sandbox also the shell around it and its outer bwrap. */
const [GUARD, GUARD_AND_JAIL] = [1, 3];
const MIB = 1024 * 1024;

/** A command, and what it takes of a limit. */
interface Share {
  command: Running;
  amount: number;
}

interface Running {
  readonly scratch: readonly string[] | undefined;
  /** Ends it. */
  readonly end: (message: string) => void;
  pid?: number;
  since: number;
  /** What its session held before it. */
  held?: SpaceSizes;
  ended_at: number;
}

/** A session with commands. */
class Session {
  readonly running = new Set<Running>();
  space: LimitedBy["space"];
  /** At the last measurement. */
  sizes: SpaceSizes | undefined;
  measured_at = -Infinity;
  measure_at = -Infinity;
  measuring = false;
}

/** The limits of all sessions of a daemon; disposing of it ends the watch and closes `files`. */
export class SessionLimits implements Disposable {
  readonly #parts: SessionLimitsParts;
  readonly #sessions = new Map<unknown, Session>();
  /** Those with a command that runs. */
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
    // What a person let out of the sandbox has no directories of its own.
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

  /** Forgets a session that has ended. */
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
    // So that the next command is not blamed for what this one has left.
    else if (this.#isDue(session)) void this.#measure(session);
    if (session.running.size === 0) this.#active.delete(session);
    if (this.#active.size === 0) this.#stop();
  }

  /** Whether the directories of a session are measured at the end of a command. */
  #isDue({ sizes, measured_at }: Session): boolean {
    return performance.now() - measured_at > MEASURE_AFTER_MS ||
      (sizes !== undefined && overfull(sizes, this.#parts.limits()) !== undefined);
  }

  #memoryLimit(): number {
    // It cannot be read while the daemon has no descriptor left.
    this.#machine_mb ||= machineMemory(this.#parts.files);
    return memoryLimit(this.#parts.limits(), this.#machine_mb) * MIB;
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const session of this.#active) {
      // Those of the last tick wait for the next: a timer is shared, and most commands are short.
      const old = [...session.running].filter(({ since }) => now - since >= INTERVAL_MS / 2);
      if (old.length === 0) continue;
      const over = this.#overProcesses(old);
      if (over !== undefined) endGreatest(over.shares, over.text);
      else void this.#measure(session);
    }
    const wait = Math.max(INTERVAL_MS, (performance.now() - now) / SHARE);
    this.#timer = setTimeout(() => this.#look(), wait);
  }

  /** Returns what is over a limit of processes or memory. */
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

  /** Measures the directories of a session if it is time for that, and ends what overfills them. */
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
    // What removes files is not ended: only what has added some, and does not make it less.
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

/** Ends the command with the greatest amount, unless one is ending already. */
function endGreatest(shares: readonly Share[], text: string): void {
  const now = performance.now();
  if (shares.some(({ command }) => now - command.ended_at < ENDING_MS)) return;
  const [greatest] = [...shares].sort((one, other) => other.amount - one.amount);
  if (greatest === undefined) return;
  greatest.command.ended_at = now;
  greatest.command.end(text);
}

/** The machine's memory in MiB; 0 when it is unknown. */
export function machineMemory(files: Pick<KernelFiles, "read">): number {
  const [, kib = "0"] = files.read("/proc/meminfo")?.match(/^MemTotal:\s+(\d+) kB$/m) ?? [];
  return Math.floor(Number(kib) / 1024);
}

function processesOf({ scratch }: Running, { pids }: ProcessUse): number {
  return Math.max(pids.length - (scratch === undefined ? GUARD : GUARD_AND_JAIL), 0);
}

/** Returns what the files take that a command keeps in memory. */
function scratchUse(
  files: KernelFiles,
  { scratch = [] }: Running,
  { pids }: ProcessUse,
): number {
  const inside = scratch.length > 0 ? pids.findLast((pid) => !isInOwnNamespace(pid)) : undefined;
  if (inside === undefined) return 0;
  return scratch.reduce((bytes, path) => {
    const seen = `/proc/${inside}/root${path}`;
    // A directory of the machine's own may be mounted there.
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
