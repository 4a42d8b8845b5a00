import { SvcError } from "../../protocol/errors.ts";
import type { MissionStore } from "./store.ts";

/** What a mission may cost, and has cost. */
export class Budget {
  readonly #store: MissionStore;
  readonly #mission_id: string;
  readonly #limit_usd: number | undefined;
  readonly #exceeded = new AbortController();
  #spent_usd: number;

  constructor(
    store: MissionStore,
    { mission_id, limit_usd, spent_usd }: {
      mission_id: string;
      limit_usd: number | undefined;
      spent_usd: number;
    },
  ) {
    this.#store = store;
    this.#mission_id = mission_id;
    this.#limit_usd = limit_usd;
    this.#spent_usd = spent_usd;
  }

  /** Fires when it is spent. */
  get exceeded(): AbortSignal {
    return this.#exceeded.signal;
  }

  /** Returns the rest in USD; undefined without a limit. @throws {SvcError} budget_exceeded. */
  remaining(): number | undefined {
    if (this.#limit_usd === undefined) return undefined;
    this.#exceeded.signal.throwIfAborted();
    return this.#limit_usd - this.#spent_usd;
  }

  /** Counts the cost of a model call, in USD. */
  spend(usd: number): void {
    if (usd === 0) return;
    this.#spent_usd += usd;
    this.#store.addCost(this.#mission_id, usd);
    if (this.#limit_usd === undefined || this.#spent_usd < this.#limit_usd) return;
    this.#exceeded.abort(
      new SvcError("budget_exceeded", `the mission's budget of $${this.#limit_usd} is spent`, {
        hint: "resume it with a larger budget_usd",
      }),
    );
  }
}
