/**
 * The daemon's side of the jailed units: which one runs a call, who waits, and how many there are.
 *
 * Units are kept: each Worker that ends leaves two descriptors and some memory behind (Deno 2.7.11,
 * also with `self.close()`). Where the kernel keeps paths beneath a directory, a unit has no
 * permission for any file and is told the directory with each call; elsewhere its permissions name
 * one directory, and it serves that one only.
 */
import { requireDescriptors } from "../../os/descriptors.ts";
import { LIBC_PATHS } from "../../os/libc.ts";
import type { UnitOp, UnitRequest, UnitResponse, UnitResult } from "./protocol.ts";

export type { UnitOp, UnitResult } from "./protocol.ts";

/** For whom an operation runs. */
export interface UnitScope {
  session_id: string;
  /** An absolute real path. */
  workdir: string;
  /** Absolute real paths inside the workdir that tools do not get to see. */
  hidden: readonly string[];
}

/** Options of a {@linkcode UnitPool}. */
export interface UnitPoolOptions {
  /** Units alive at once. */
  max: number;
  /** After so long without a call a unit collects its garbage, or ends if others are left; ms. */
  idle_ms: number;
  /** How long a running call may take; ms, default 60,000. */
  deadline_ms?: number;
  /** How long all units must have been at their calls for another to be started; ms, default 200. */
  patience_ms?: number;
  /** Called when no unit has had a call for `idle_ms`. */
  onRest?: () => void;
  /** The unit's module, for tests. */
  entry?: URL;
}

const DEADLINE_MS = 60_000;
/** Longer than nearly all calls, and than a unit takes to start. */
const PATIENCE_MS = 200;
/**
 * A call that was given up is asked to stop; a unit that has not stopped it by then is terminated.
 * Longer than a unit lets a regular expression run.
 */
const STOP_MS = 3000;
/** Units that may end for being idle; later ones are kept, so that descriptors do not run out. */
const ENDINGS_MAX = 64;

interface Call {
  id: number;
  op: UnitOp;
  args: unknown;
  scope: UnitScope;
  deadline?: number;
  settle(outcome: UnitResult | Error): void;
}

/** One call at a time: a call that hangs or crashes takes no other with it. */
interface Unit {
  worker: Worker;
  /** The one directory it may touch; `undefined` where each call names its own. */
  workdir: string | undefined;
  running?: Call;
  /** The call it was asked to stop, until it has. */
  stopping?: { id: number; timer: number };
  /** When it got its call or, idle, answered it. */
  since: number;
  /** Whether it has been asked to collect its garbage since its last call. */
  rested: boolean;
}

/** Runs the file tools of all sessions in jailed units. */
export class UnitPool {
  readonly #options: Required<UnitPoolOptions>;
  /** The one used longest ago first. */
  #units: Unit[] = [];
  #waiting: Call[] = [];
  /** Whether units are told the directory with each call. */
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

  /** Units alive now. */
  get size(): number {
    return this.#units.length;
  }

  /** Whether no call runs or waits. */
  get at_rest(): boolean {
    return this.#waiting.length === 0 && this.#units.every(isIdle);
  }

  /**
   * Runs an operation in a unit. Calls wait for one that is free; another is started when all have
   * been busy with one call for long and fewer than `max` are alive.
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

  /** Gives up the calls of a session; they are answered with `ok: false`. */
  closeSession(session_id: string): void {
    const running = this.#units.map((unit) => unit.running).filter((call) => call !== undefined);
    for (const call of [...this.#waiting, ...running]) {
      if (call.scope.session_id === session_id) {
        this.#giveUp(call, failure("the session has ended"));
      }
    }
  }

  /** Ends all units; their calls and those that wait are answered with `ok: false`. */
  close(): void {
    this.#closed = true;
    const running = this.#units.map((unit) => unit.running).filter((call) => call !== undefined);
    for (const call of [...this.#waiting, ...running]) {
      call.settle(failure("the file tools are closed"));
    }
    this.#waiting = [];
    for (const unit of [...this.#units]) this.#end(unit);
    clearTimeout(this.#timer);
  }

  /** Hands waiting calls to units, in order, as far as there is room. */
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

  /** @returns `undefined` when the call has to wait. */
  #unitFor({ scope: { workdir } }: Call): Unit | Error | undefined {
    const fitting = this.#fitting(workdir);
    // The one used last is the least likely to have been paged out, and lets the others rest.
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

  /** When a call that these units are too busy for has another one started for it. */
  #growsAt(fitting: Unit[]): number {
    return Math.max(this.#lastStart, ...fitting.map((unit) => unit.since)) +
      this.#options.patience_ms;
  }

  #start(workdir: string | undefined): Unit {
    // A start that fails is not tried again with every call.
    this.#lastStart = performance.now();
    requireDescriptors("the file tools");
    const worker = new Worker(this.#options.entry, {
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
    post(unit, { type: "start", workdir });
    return unit;
  }

  #send(unit: Unit, call: Call): void {
    // The one used last goes to the end.
    this.#units = [...this.#units.filter((other) => other !== unit), unit];
    unit.running = call;
    unit.since = performance.now();
    unit.rested = false;
    call.deadline ??= setTimeout(() => {
      const seconds = this.#options.deadline_ms / 1000;
      this.#giveUp(call, failure(`${call.op} took longer than ${seconds} s and was stopped`));
    }, this.#options.deadline_ms);
    const { id, op, args, scope: { workdir, hidden } } = call;
    try {
      post(unit, { type: "call", id, op, args, workdir, hidden });
    } catch (error) {
      // Arguments that cannot be copied to another thread.
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
        const { id, ok, output } = message;
        unit.since = performance.now();
        if (unit.stopping?.id === id) {
          clearTimeout(unit.stopping.timer);
          unit.stopping = undefined;
        } else {
          const call = unit.running;
          unit.running = undefined;
          call?.settle({ ok, output });
        }
        this.#dispatch();
      }
    }
  }

  /** This kernel keeps no paths beneath a directory: from here on permissions do, one unit each. */
  #settleDown(unit: Unit): void {
    this.#roaming = false;
    this.#end(unit);
    if (unit.running !== undefined) this.#waiting.unshift(unit.running);
    this.#dispatch();
  }

  /** Settles a call at once and has its unit stop it, or be stopped itself. */
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

  /** Sets the pool's one timer to when a call has waited for long, or a unit been idle for long. */
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

  /** Ends the units that have been idle for long; one is kept, and collects its garbage. */
  #rest(): void {
    // A timer may come a little early.
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
 * Where the unit's module is. From source it is beside this one. Bundled, `deno bundle` keeps the
 * entry's path below the output folder and puts everything else, this module too, into `main.js`
 * and the chunks at its top.
 *
 * @param base the URL of this module as it runs
 */
export function unitEntry(base: string): URL {
  const source = base.endsWith("/src/jail/unit/pool.ts");
  return new URL(source ? "./main.ts" : "./src/jail/unit/main.js", base);
}

/** The C library until the unit has opened it, and the directory if it serves only one. */
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

/** Asking for more than the daemon has would fail; without it units fall back. */
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
