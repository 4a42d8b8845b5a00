/** Keeps long operations from blocking a unit, and limits the time of regular expressions. */
import vm from "node:vm";
import { UnitError } from "./protocol.ts";

/** Time an operation may block the unit's thread. */
const SLICE_MS = 10;

/** Lets other calls run regularly, and ends a cancelled operation. */
export class Pace {
  readonly #signal: AbortSignal;
  #since = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Call it in each iteration of a long loop. @throws {UnitError} when the call was cancelled */
  async step(): Promise<void> {
    if (performance.now() - this.#since < SLICE_MS) return;
    // A timer, because messages arrive only when the event loop turns.
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#since = performance.now();
    if (this.#signal.aborted) throw new UnitError("cancelled");
  }
}

const HOOK = Symbol.for("svc.unit.within");
const script = new vm.Script(`globalThis[Symbol.for("svc.unit.within")]()`);

/**
 * Runs `work` for a limited time, such as a regular expression that may backtrack forever.
 * `Worker.terminate` does not interrupt running code (Deno 2.7), but a script's timeout does.
 *
 * @returns what `work` returns, or `undefined` after a timeout
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
