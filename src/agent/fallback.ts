/** Models that answer the rest of a turn when the session's own model fails for good. */
import { messageOf } from "../protocol/errors.ts";
import { type Model, ModelError } from "../models/model.ts";
import { UnknownModel } from "../models/registry.ts";
import { MAIN_LANE, MODEL_RETRY } from "../protocol/events.ts";
import type { TurnSession } from "../session/session.ts";

export interface FallbackParts {
  /** Finds a model by its id. @throws {UnknownModel} with a message for the person */
  model(id: string): Promise<Model>;
  /** The models of `[agent] fallback`, in order. */
  fallback(): readonly string[];
}

/** HTTP statuses for a refused key, no credit, an unknown model or too long a wait. */
const FOR_GOOD = new Set([401, 402, 403, 404, 408, 409, 429]);

/**
 * Reports whether another model may answer: this one cannot be reached, does not exist, or refuses
 * us. An invalid or filtered request would fail elsewhere too.
 */
export function failsForGood(error: unknown): boolean {
  // Such as one without a key.
  if (error instanceof UnknownModel) return true;
  if (!(error instanceof ModelError) || error.filtered || error.too_long !== undefined) {
    return false;
  }
  const { status, retryable } = error;
  if (error.limited) return true;
  return status === undefined ? retryable : status >= 500 || FOR_GOOD.has(status);
}

/** The models of one turn: the session's own, then the fallbacks. */
export class Fallbacks {
  readonly #parts: FallbackParts;
  readonly #session: TurnSession;
  /** The session's own model at the last request. */
  #own: string;
  /** The model that answers now. */
  #at: string;
  /** Failures by limits, and when those end, in milliseconds since 1970. */
  readonly #limited: { failure: ModelError; at: number }[] = [];

  /** @param at the fallback that an earlier daemon used in this turn */
  constructor(parts: FallbackParts, session: TurnSession, at?: string) {
    this.#parts = parts;
    this.#session = session;
    this.#own = session.state.model;
    this.#at = at ?? this.#own;
  }

  /** Whether the person has changed the session's model. */
  get changed(): boolean {
    return this.#session.state.model !== this.#own;
  }

  /** Whether another model than the session's own answers. */
  get away(): boolean {
    return this.#at !== this.#own;
  }

  /**
   * Returns the answering model; after a change by the person, theirs.
   *
   * @throws {UnknownModel} if neither it nor a fallback can be used
   */
  async model(): Promise<Model> {
    if (this.changed) this.#at = this.#own = this.#session.state.model;
    try {
      return await this.#parts.model(this.#at);
    } catch (error) {
      return await this.after(error) ?? Promise.reject(error);
    }
  }

  /**
   * Returns the model to ask after a failure, and notes that; undefined if the failure is not for
   * good, or no model is left.
   */
  async after(failure: unknown): Promise<Model | undefined> {
    const { state } = this.#session;
    if (failure instanceof ModelError && failure.limited && failure.retry_after_ms !== undefined) {
      this.#limited.push({ failure, at: Date.now() + failure.retry_after_ms });
    }
    // Work for others keeps the agreed model, and only builtin/toolbelt runs its instructions.
    if (!failsForGood(failure) || state.trust !== "trusted" || this.#own.startsWith("builtin/")) {
      return undefined;
    }
    const all = this.#parts.fallback().filter((id) => id !== this.#own);
    const at = all.indexOf(this.#at);
    const rest = !this.away ? all : at < 0 ? [] : all.slice(at + 1);
    let problem = problemOf(failure);
    for (const id of rest) {
      this.#at = id;
      try {
        const model = await this.#parts.model(id);
        await this.#session.emit("lane.note", {
          lane_id: MAIN_LANE,
          text: `${problem}; ${id} answers the rest of this turn`,
          reason_code: MODEL_RETRY,
          fallback: id,
        });
        return model;
      } catch (error) {
        if (!failsForGood(error)) throw error;
        problem += `; ${id} cannot be used: ${problemOf(error)}`;
      }
    }
    return undefined;
  }

  /**
   * Returns the failure to report when no model is left: of the one whose limit ends first, if that
   * is worth waiting for.
   *
   * @param least_ms shorter waits have been tried
   */
  soonest(last: unknown, least_ms = Infinity): unknown {
    const now = Date.now();
    const [first] = this.#limited.filter(({ at }) => at - now > least_ms)
      .sort((a, b) => a.at - b.at);
    if (first === undefined) return last;
    const { message, retryable, status } = first.failure;
    const retry_after_ms = first.at - now;
    return new ModelError(message, { retryable, status, limited: true, retry_after_ms });
  }
}

function problemOf(error: unknown): string {
  return error instanceof UnknownModel ? error.problem : messageOf(error);
}
