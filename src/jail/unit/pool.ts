/**
 * The daemon's side of the jailed units: assigns calls to units and decides how many there are.
 *
 * Units are reused, because each Worker that ends leaks two descriptors and some memory (Deno
 * 2.7.11, also with `self.close()`). If the kernel keeps paths below a directory, a unit has no
 * file permissions and each call names its directory. Otherwise a unit has permissions for one
 * directory and serves only that one.
 */
import { startWorker } from "../../os/start.ts";
import { LIBC_PATHS } from "../../os/libc.ts";
import type { UnitOp, UnitRequest, UnitResponse, UnitResult } from "./protocol.ts";

export type { UnitOp, UnitResult } from "./protocol.ts";

export interface UnitScope {
  session_id: string;
  workdir: string;
  /** Absolute real paths inside the workdir that tools cannot see. */
  hidden: readonly string[];
  /** Stands before the paths that a search finds; default: they are relative to the workdir. */
  prefix?: string;
}

export interface UnitPoolOptions {
  /** Units alive at once. */
  max: number;
  /** A unit idle for this long collects garbage, or ends if others are left. */
  idle_ms: number;
  /** Time limit of a call. Default: 60,000. */
  deadline_ms?: number;
  /** Another unit is started when all have been busy with one call for this long. Default: 200. */
  patience_ms?: number;
  /** Called when no unit has had a call for `idle_ms`. */
  onRest?: () => void;
  /** Real path of the person's home directory. */
  home?: string;
  /** The unit's module, for tests. */
  entry?: URL;
}

const DEADLINE_MS = 60_000;
/** Longer than nearly all calls, and than the start of a unit. */
const PATIENCE_MS = 200;
/**
 * A unit that has not stopped an abandoned call by then is terminated. Longer than the time limit
 * of a regular expression.
 */
const STOP_MS = 3000;
/** How many idle units may end. Later ones are kept, so that descriptors do not run out. */
const ENDINGS_MAX = 64;

interface Call {
  id: number;
  op: UnitOp;
  args: unknown;
  scope: UnitScope;
  deadline?: number;
  settle(outcome: UnitResult | Error): void;
}

/** Runs one call at a time, so that a hang or crash affects no other. */
interface Unit {
  worker: Worker;
  /** `undefined` if each call names its own. */
  workdir: string | undefined;
  running?: Call;
  /** The call that it was asked to stop, until it has stopped. */
  stopping?: { id: number; timer: number };
  /** When its current call began or, if idle, the last one ended. */
  since: number;
  /** Whether it has collected garbage since its last call. */
  rested: boolean;
}

/** Runs the file tools of all sessions in jailed units. */
export class UnitPool {
  readonly #options: Required<Omit<UnitPoolOptions, "home">> & Pick<UnitPoolOptions, "home">;
  /** In order of use, least recent first. */
  #units: Unit[] = [];
  #waiting: Call[] = [];
  /** Whether each call names its directory. */
  #roaming: boolean;
  #lastId = 0;
  #lastStart = -Infinity;
  #endings = 0;
  #timer: number | undefined;
  #closed = false;

  constructor(options: UnitPoolOptions) {
    this.#options = {
      deadline_ms: DEADLINE_MS,
      patience_ms: PATIENCE_MS,
      onRest: () => {},
      entry: unitEntry(import.meta.url),
      ...options,
    };
    this.#roaming = grantedLibc().length > 0;
  }

  get size(): number {
    return this.#units.length;
  }

  get at_rest(): boolean {
    return this.#waiting.length === 0 && this.#units.every(isIdle);
  }

  /**
   * Runs an operation in a unit, once one is free. `ok: false` if the unit crashes or exceeds the
   * deadline.
   *
   * @param args as the model sent them; the unit checks them
   * @throws {DOMException} `AbortError` when the signal is aborted
   */
  call(op: UnitOp, args: unknown, scope: UnitScope, signal: AbortSignal): Promise<UnitResult> {
    return new Promise((resolve, reject) => {
      const aborted = () => new DOMException(`${op} was aborted`, "AbortError");
      if (signal.aborted) return reject(aborted());
      if (this.#closed) return resolve(failure("the file tools are closed"));
      const call: Call = { id: ++this.#lastId, op, args, scope, settle };
      const onAbort = () => this.#giveUp(call, aborted());
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(call);
      this.#dispatch();

      function settle(outcome: UnitResult | Error): void {
        signal.removeEventListener("abort", onAbort);
        clearTimeout(call.deadline);
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      }
    });
  }

  #calls(): Call[] {
    return [...this.#waiting, ...this.#units.flatMap(({ running }) => running ?? [])];
  }

  /** Gives up the calls of a session; they return `ok: false`. */
  closeSession(session_id: string): void {
    for (const call of this.#calls()) {
      if (call.scope.session_id === session_id) {
        this.#giveUp(call, failure("the session has ended"));
      }
    }
  }

  /** Ends all units; running and waiting calls return `ok: false`. */
  close(): void {
    this.#closed = true;
    for (const call of this.#calls()) {
      call.settle(failure("the file tools are closed"));
    }
    this.#waiting = [];
    for (const unit of [...this.#units]) this.#end(unit);
    clearTimeout(this.#timer);
  }

  #dispatch(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) {
      const unit = this.#unitFor(call);
      if (unit === undefined) this.#waiting.push(call);
      else if (unit instanceof Error) call.settle(failure(unit.message));
      else this.#send(unit, call);
    }
    this.#schedule();
  }

  /** @returns `undefined` if the call has to wait */
  #unitFor({ scope: { workdir } }: Call): Unit | Error | undefined {
    const fitting = this.#fitting(workdir);
    // The most recently used one is least likely to be paged out, and the others can rest.
    const free = fitting.findLast(isIdle);
    if (free !== undefined) return free;
    if (fitting.length > 0 && performance.now() < this.#growsAt(fitting)) return undefined;
    if (this.#units.length >= this.#options.max) {
      const other = this.#units.find(isIdle);
      if (other === undefined) return undefined;
      this.#end(other);
    }
    try {
      return this.#start(this.#roaming ? undefined : workdir);
    } catch (error) {
      if (fitting.length > 0) return undefined;
      return new Error(`the file tools could not start: ${(error as Error).message}`);
    }
  }

  #fitting(workdir: string): Unit[] {
    return this.#units.filter((unit) => unit.workdir === undefined || unit.workdir === workdir);
  }

  /** Returns when these have been busy for so long that another unit is started. */
  #growsAt(fitting: Unit[]): number {
    return Math.max(this.#lastStart, ...fitting.map((unit) => unit.since)) +
      this.#options.patience_ms;
  }

  #start(workdir: string | undefined): Unit {
    // Keeps a failing start from repeating with every call.
    this.#lastStart = performance.now();
    const worker = startWorker("the file tools", this.#options.entry, {
      type: "module",
      name: "unit",
      deno: { permissions: jail(workdir) },
    });
    const unit: Unit = { worker, workdir, since: performance.now(), rested: false };
    worker.onmessage = ({ data }: MessageEvent<UnitResponse>) => this.#receive(unit, data);
    worker.onerror = (event) => {
      // Unhandled, it would end the daemon.
      event.preventDefault();
      this.#crashed(unit, event.message);
    };
    worker.onmessageerror = () => this.#crashed(unit, "a message could not be read");
    this.#units.push(unit);
    post(unit, { type: "start", workdir, home: this.#options.home });
    return unit;
  }

  #send(unit: Unit, call: Call): void {
    // The most recently used one is last.
    this.#units = [...this.#units.filter((other) => other !== unit), unit];
    unit.running = call;
    unit.since = performance.now();
    unit.rested = false;
    call.deadline ??= setTimeout(() => {
      const seconds = this.#options.deadline_ms / 1000;
      this.#giveUp(call, failure(`${call.op} took longer than ${seconds} s and was stopped`));
    }, this.#options.deadline_ms);
    const { id, op, args, scope: { workdir, hidden, prefix } } = call;
    try {
      post(unit, { type: "call", id, op, args, workdir, hidden, prefix });
    } catch (error) {
      // The arguments cannot be copied to another thread.
      unit.running = undefined;
      call.settle(failure(`${op}: ${(error as Error).message}`));
    }
  }

  #receive(unit: Unit, message: UnitResponse): void {
    switch (message.type) {
      case "ready":
        if (unit.workdir === undefined && !message.roams) this.#settleDown(unit);
        break;
      case "rested":
        if (this.at_rest) this.#options.onRest();
        break;
      case "result": {
        const { type: _, id, ...result } = message;
        unit.since = performance.now();
        if (unit.stopping?.id === id) {
          clearTimeout(unit.stopping.timer);
          unit.stopping = undefined;
        } else {
          const call = unit.running;
          unit.running = undefined;
          call?.settle(result);
        }
        this.#dispatch();
      }
    }
  }

  /**
   * This kernel cannot keep paths below a directory: from now on, units have permissions for one
   * directory each.
   */
  #settleDown(unit: Unit): void {
    this.#roaming = false;
    this.#end(unit);
    if (unit.running !== undefined) this.#waiting.unshift(unit.running);
    this.#dispatch();
  }

  /** Settles a call immediately; its unit stops the call or is terminated. */
  #giveUp(call: Call, outcome: UnitResult | Error): void {
    call.settle(outcome);
    this.#waiting = this.#waiting.filter((other) => other !== call);
    const unit = this.#units.find((unit) => unit.running === call);
    if (unit === undefined) return;
    unit.running = undefined;
    post(unit, { type: "cancel", id: call.id });
    const timer = setTimeout(() => {
      this.#end(unit);
      this.#dispatch();
    }, STOP_MS);
    unit.stopping = { id: call.id, timer };
  }

  #crashed(unit: Unit, reason: string): void {
    this.#end(unit);
    const call = unit.running;
    call?.settle(failure(`${call.op}: the file tools stopped unexpectedly: ${reason}`));
    this.#dispatch();
  }

  #end(unit: Unit): void {
    unit.worker.onmessage = null;
    unit.worker.terminate();
    clearTimeout(unit.stopping?.timer);
    this.#units = this.#units.filter((other) => other !== unit);
  }

  /** Sets the only timer to the next time that a call has waited or a unit was idle too long. */
  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#closed) return;
    const [next] = this.#units.length < this.#options.max ? this.#waiting : [];
    const due = [
      ...(next ? [this.#growsAt(this.#fitting(next.scope.workdir))] : []),
      ...this.#units.filter((unit) => isIdle(unit) && !unit.rested)
        .map(({ since }) => since + this.#options.idle_ms),
    ];
    if (due.length === 0) return;
    const delay = Math.max(0, Math.min(...due) - performance.now());
    this.#timer = setTimeout(() => {
      this.#rest();
      this.#dispatch();
    }, delay);
    Deno.unrefTimer(this.#timer);
  }

  /** Ends units idle for too long; keeps one, which collects garbage. */
  #rest(): void {
    // A timer may fire a little early.
    const due = performance.now() - this.#options.idle_ms + 1;
    for (const unit of this.#units.filter((unit) => isIdle(unit) && unit.since <= due)) {
      if (this.#units.length > 1 && this.#endings < ENDINGS_MAX) {
        this.#endings++;
        this.#end(unit);
      } else if (!unit.rested) {
        unit.rested = true;
        post(unit, { type: "rest" });
      }
    }
  }
}

/**
 * Returns the URL of the unit's module. From source it is beside this one. `deno bundle` keeps the
 * entry's path below the output folder, but puts all else, including this module, into `main.js`
 * and chunks at its top.
 *
 * @param base the URL of this module as it runs
 */
export function unitEntry(base: string): URL {
  const source = base.endsWith("/src/jail/unit/pool.ts");
  return new URL(source ? "./main.ts" : "./src/jail/unit/main.js", base);
}

/**
 * Returns a unit's permissions: the C library until it is open, and its directory if it serves only
 * one.
 */
function jail(workdir: string | undefined): Deno.PermissionOptions {
  const libc = grantedLibc();
  return {
    read: workdir === undefined ? false : [workdir],
    write: workdir === undefined ? false : [workdir],
    ffi: libc.length > 0 ? libc : false,
    net: false,
    run: false,
    env: false,
    sys: false,
    import: false,
  };
}

/**
 * Requesting more than the daemon's own permissions would fail; without the library units fall
 * back.
 */
function grantedLibc(): string[] {
  if (Deno.build.os !== "linux") return [];
  return LIBC_PATHS.filter((path) =>
    Deno.permissions.querySync({ name: "ffi", path }).state === "granted"
  );
}

function isIdle(unit: Unit): boolean {
  return unit.running === undefined && unit.stopping === undefined;
}

function post(unit: Unit, message: UnitRequest): void {
  unit.worker.postMessage(message);
}

function failure(output: string): UnitResult {
  return { ok: false, output };
}
