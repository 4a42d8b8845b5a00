/** The daemon's side of the jailed units: who has one, who waits for one, and when one has to go. */
import { LIBC_PATHS } from "../../platform/libc.ts";
import type { UnitOp, UnitRequest, UnitResponse, UnitResult } from "./protocol.ts";

export type { UnitOp, UnitResult } from "./protocol.ts";

/** For whom an operation runs. */
export interface UnitScope {
  session_id: string;
  /** An absolute real path; the same for all calls of a session. */
  workdir: string;
  /** Absolute real paths inside the workdir that tools do not get to see. */
  hidden: readonly string[];
}

/** Options of a {@linkcode UnitPool}. */
export interface UnitPoolOptions {
  /** Units alive at once. */
  max: number;
  /** After so long without a call a unit ends; ms. */
  idle_ms: number;
  /** How long a running call may take; ms, default 60,000. */
  deadline_ms?: number;
  /** Called when the last unit has ended for being idle. */
  onEmpty?: () => void;
  /** The unit's module, for tests. */
  entry?: URL;
}

const DEADLINE_MS = 60_000;
/**
 * A call that was given up is asked to stop; a unit that has not stopped it by then is terminated.
 * Longer than a unit lets a regular expression run.
 */
const STOP_MS = 3000;

/** Operations that can run again from the start when their unit was lost. */
const REPEATABLE: ReadonlySet<UnitOp> = new Set([
  "stat",
  "read_file",
  "read_text",
  "list_dir",
  "glob",
  "grep",
]);

interface Call {
  id: number;
  op: UnitOp;
  args: unknown;
  scope: UnitScope;
  deadline?: number;
  settle(outcome: UnitResult | Error): void;
}

interface Unit {
  session_id: string;
  workdir: string;
  worker: Worker;
  running: Map<number, Call>;
  /** Given up, but not known to have stopped: id of the call → timer. */
  stopping: Map<number, number>;
  idleSince: number;
}

/** Runs the file tools of many sessions, each in a jailed unit of its own. */
export class UnitPool {
  readonly #max: number;
  readonly #idleMs: number;
  readonly #deadlineMs: number;
  readonly #entry: URL;
  readonly #onEmpty: () => void;
  /** By session, the one used longest ago first. */
  readonly #units = new Map<string, Unit>();
  #waiting: Call[] = [];
  #lastId = 0;
  #idleTimer: number | undefined;
  #closed = false;

  constructor(options: UnitPoolOptions) {
    this.#max = options.max;
    this.#idleMs = options.idle_ms;
    this.#deadlineMs = options.deadline_ms ?? DEADLINE_MS;
    this.#onEmpty = options.onEmpty ?? (() => {});
    this.#entry = options.entry ?? unitEntry(import.meta.url);
  }

  /** Units alive now. */
  get size(): number {
    return this.#units.size;
  }

  /**
   * Runs an operation in the session's unit, which is started when there is none. Calls wait while
   * `max` units are alive and busy.
   *
   * A unit that crashes or outlasts the deadline answers `ok: false`.
   *
   * @param args as the model gave them; the unit checks them
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

  /** Ends the unit of a session; its calls are answered with `ok: false`. */
  closeSession(session_id: string): void {
    const ended = failure("the session has ended");
    const mine = this.#waiting.filter((call) => call.scope.session_id === session_id);
    this.#waiting = this.#waiting.filter((call) => call.scope.session_id !== session_id);
    for (const call of mine) call.settle(ended);
    const unit = this.#units.get(session_id);
    if (unit === undefined) return;
    this.#end(unit);
    for (const call of unit.running.values()) call.settle(ended);
    this.#dispatch();
  }

  /** Ends all units; their calls and those that wait are answered with `ok: false`. */
  close(): void {
    this.#closed = true;
    const sessions = [...this.#units.keys(), ...this.#waiting.map((call) => call.scope.session_id)];
    for (const session_id of sessions) this.closeSession(session_id);
    clearTimeout(this.#idleTimer);
  }

  /** Hands waiting calls to units, in order, as far as there is room. */
  #dispatch(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const kept: Call[] = [];
    for (const call of waiting) {
      const unit = this.#unitFor(call);
      if (unit === "wait") kept.push(call);
      else if (unit instanceof Error) call.settle(failure(unit.message));
      else this.#send(unit, call);
    }
    this.#waiting = kept.concat(this.#waiting);
    this.#scheduleIdle();
  }

  #unitFor({ scope }: Call): Unit | "wait" | Error {
    const own = this.#units.get(scope.session_id);
    if (own !== undefined) {
      return own.workdir === scope.workdir
        ? own
        : new Error(`session ${scope.session_id} has its file tools in ${own.workdir}`);
    }
    if (this.#units.size >= this.#max) {
      const oldest = this.#units.values().find(isIdle);
      if (oldest === undefined) return "wait";
      this.#end(oldest);
    }
    try {
      return this.#start(scope);
    } catch (error) {
      return new Error(`the file tools could not start: ${(error as Error).message}`);
    }
  }

  #start({ session_id, workdir }: UnitScope): Unit {
    const worker = new Worker(this.#entry, {
      type: "module",
      name: `unit ${session_id}`,
      deno: { permissions: jail(workdir) },
    });
    const unit: Unit = {
      session_id,
      workdir,
      worker,
      running: new Map(),
      stopping: new Map(),
      idleSince: 0,
    };
    worker.onmessage = ({ data }: MessageEvent<UnitResponse>) => this.#receive(unit, data);
    worker.onerror = (event) => {
      // Unhandled, it would end the daemon.
      event.preventDefault();
      this.#crashed(unit, event.message);
    };
    worker.onmessageerror = () => this.#crashed(unit, "a message could not be read");
    this.#units.set(session_id, unit);
    post(unit, { type: "start", workdir });
    return unit;
  }

  #send(unit: Unit, call: Call): void {
    // The one used last goes to the end.
    this.#units.delete(unit.session_id);
    this.#units.set(unit.session_id, unit);
    unit.running.set(call.id, call);
    call.deadline = setTimeout(() => {
      const seconds = this.#deadlineMs / 1000;
      this.#giveUp(call, failure(`${call.op} took longer than ${seconds} s and was stopped`));
    }, this.#deadlineMs);
    const { id, op, args, scope: { hidden } } = call;
    try {
      post(unit, { type: "call", id, op, args, hidden });
    } catch (error) {
      // Arguments that cannot be copied to another thread.
      unit.running.delete(id);
      call.settle(failure(`${op}: ${(error as Error).message}`));
      this.#rest(unit);
    }
  }

  #receive(unit: Unit, message: UnitResponse): void {
    if (message.type !== "result") return;
    const { id, ok, output } = message;
    clearTimeout(unit.stopping.get(id));
    unit.stopping.delete(id);
    const call = unit.running.get(id);
    unit.running.delete(id);
    this.#rest(unit);
    call?.settle({ ok, output });
    this.#dispatch();
  }

  /** Settles a call at once and has its unit stop it, or be stopped itself. */
  #giveUp(call: Call, outcome: UnitResult | Error): void {
    call.settle(outcome);
    this.#waiting = this.#waiting.filter((other) => other !== call);
    const unit = this.#units.get(call.scope.session_id);
    if (!unit?.running.delete(call.id)) return;
    post(unit, { type: "cancel", id: call.id });
    unit.stopping.set(call.id, setTimeout(() => this.#replace(unit), STOP_MS));
  }

  /** Ends a unit that does not stop; calls that only read go to a fresh one. */
  #replace(unit: Unit): void {
    this.#end(unit);
    const again: Call[] = [];
    for (const call of unit.running.values()) {
      clearTimeout(call.deadline);
      if (REPEATABLE.has(call.op)) again.push(call);
      else call.settle(failure(`${call.op}: was interrupted; look whether the file has changed`));
    }
    this.#waiting.unshift(...again);
    this.#dispatch();
  }

  #crashed(unit: Unit, reason: string): void {
    this.#end(unit);
    for (const call of unit.running.values()) {
      call.settle(failure(`${call.op}: the file tools stopped unexpectedly: ${reason}`));
    }
    this.#dispatch();
  }

  #end(unit: Unit): void {
    unit.worker.onmessage = null;
    unit.worker.terminate();
    for (const timer of unit.stopping.values()) clearTimeout(timer);
    unit.stopping.clear();
    if (this.#units.get(unit.session_id) === unit) this.#units.delete(unit.session_id);
  }

  #rest(unit: Unit): void {
    if (isIdle(unit)) unit.idleSince = performance.now();
  }

  /** Sets the pool's one timer to when the next unit has been idle for long enough. */
  #scheduleIdle(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
    const idle = this.#units.values().filter(isIdle).map(({ idleSince }) => idleSince).toArray();
    if (idle.length === 0 || this.#closed) return;
    const due = Math.min(...idle) + this.#idleMs - performance.now();
    this.#idleTimer = setTimeout(() => this.#endIdle(), Math.max(0, due));
    Deno.unrefTimer(this.#idleTimer);
  }

  #endIdle(): void {
    const now = performance.now();
    for (const unit of [...this.#units.values()]) {
      // A timer may come a little early.
      if (isIdle(unit) && now - unit.idleSince >= this.#idleMs - 1) this.#end(unit);
    }
    if (this.#units.size === 0) this.#onEmpty();
    this.#scheduleIdle();
  }
}

/**
 * Where the unit's module is. From source it is beside this one. Bundled, `deno bundle` keeps the
 * entry's path below the output folder and puts everything else, this module too, into `main.js`
 * and the chunks at its top.
 *
 * @param base the URL of this module as it runs
 */
export function unitEntry(base: string): URL {
  const source = base.endsWith("/src/agent/unit/pool.ts");
  return new URL(source ? "./main.ts" : "./src/agent/unit/main.js", base);
}

/** The working directory, and the C library until the unit has opened it. */
function jail(workdir: string): Deno.PermissionOptions {
  const granted = (path: string) =>
    Deno.permissions.querySync({ name: "ffi", path }).state === "granted";
  // Asking for more than the daemon has would fail; without it the unit falls back.
  const ffi = Deno.build.os === "linux" ? LIBC_PATHS.filter(granted) : [];
  return {
    read: [workdir],
    write: [workdir],
    ffi: ffi.length > 0 ? ffi : false,
    net: false,
    run: false,
    env: false,
    sys: false,
    import: false,
  };
}

function isIdle(unit: Unit): boolean {
  return unit.running.size === 0 && unit.stopping.size === 0;
}

function post(unit: Unit, message: UnitRequest): void {
  unit.worker.postMessage(message);
}

function failure(output: string): UnitResult {
  return { ok: false, output };
}
