/** Keeps long operations from blocking a unit, and limits the time of regular expressions. */
import vm from "node:vm";
import { UnitError } from "./protocol.ts";

/** How long an operation may block the unit's thread, in ms. */
const SLICE_MS = 10;

/** Lets other calls of the unit run regularly, and ends an operation that was cancelled. */
export class Pace {
  readonly #signal: AbortSignal;
  #since = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * Await this in every iteration of a loop that may be long.
   *
   * @throws {UnitError} when the call was cancelled
   */
  async step(): Promise<void> {
    if (performance.now() - this.#since < SLICE_MS) return;
    // A timer, not a promise: messages arrive only when the event loop turns.
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#since = performance.now();
    if (this.#signal.aborted) throw new UnitError("cancelled");
  }
}

const HOOK = Symbol.for("svc.unit.within");
const script = new vm.Script(`globalThis[Symbol.for("svc.unit.within")]()`);

/**
 * Runs something that may take forever, such as a regular expression that backtracks, for a limited
 * time. `Worker.terminate` does not interrupt running code (in Deno 2.7 its thread would keep
 * running), but the timeout of a script does.
 *
 * @returns what `work` returns, or `undefined` when it was interrupted
 */
export function within<T>(ms: number, work: () => T): T | undefined {
  const holder = globalThis as unknown as Record<symbol, unknown>;
  holder[HOOK] = work;
  try {
    return script.runInThisContext({ timeout: ms }) as T;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
    throw error;
  } finally {
    delete holder[HOOK];
  }
}
