/** Decides after each answer whether its turn continues, and how it ends otherwise. */
import type { FinishReason, ToolCall } from "../models/model.ts";
import type { TurnEnd } from "../session/turn.ts";
import type { ToolOutcome } from "./tool.ts";

export interface Answer {
  reason: FinishReason;
  calls: readonly ToolCall[];
  /** Whether it has more than blank text. */
  said: boolean;
}

/** The turn ends, or the model gets a message before the next step. */
export interface Verdict {
  end?: TurnEnd;
  tell?: string;
}

/** How many answers in a row may be cut off or empty. */
const CUT_MAX = 3;
const EMPTY_MAX = 1;
/** After how many identical steps in a row the model is warned, and the turn ends. */
const REPEATS_TOLD = 3;
const REPEATS_MAX = 5;

export class Answers {
  #cut = 0;
  #empty = 0;
  #last_step = "";
  #repeats = 0;

  /** Judges an answer before its calls run. @returns nothing if its calls should run. */
  judge({ reason, calls, said }: Answer): Verdict {
    if (reason === "filtered") {
      return {
        end: { stop_reason: "filtered", error: "the provider's filter cut the answer off" },
      };
    }
    if (reason === "refused") {
      return { end: { stop_reason: "refused", error: "the model refused to answer" } };
    }
    if (reason === "length") return this.#cutOff(calls.length > 0);
    this.#cut = 0;
    if (calls.length > 0 || said) {
      this.#empty = 0;
      return calls.length > 0 ? {} : { end: { stop_reason: "ok" } };
    }
    if (++this.#empty <= EMPTY_MAX) {
      return { tell: "The last answer was empty. Answer the person, or continue with a call." };
    }
    return { end: { stop_reason: "empty", error: "the model answered with nothing, twice" } };
  }

  #cutOff(has_calls: boolean): Verdict {
    if (++this.#cut > CUT_MAX) {
      const error = `the answer reached the model's output limit ${this.#cut} times in a row`;
      return { end: { stop_reason: "length", error } };
    }
    return {
      tell: has_calls
        ? "The last answer was cut off at the output limit, so its last call may be incomplete. " +
          "Continue in smaller pieces."
        : "The last answer was cut off at the output limit. Continue exactly where it stopped, " +
          "and repeat nothing.",
    };
  }

  /** Judges the calls of an answer by their results, if they repeat. */
  judgeCalls(calls: readonly ToolCall[], outcomes: readonly ToolOutcome[]): Verdict {
    const step = calls.map(({ tool, args }, n) => {
      const { ok, output } = outcomes[n];
      return JSON.stringify([tool, args, ok, output]);
    }).sort().join("\n");
    this.#repeats = step === this.#last_step ? this.#repeats + 1 : 1;
    this.#last_step = step;
    const which = `${calls.length === 1 ? "call" : "calls"} of ${
      [...new Set(calls.map(({ tool }) => tool))].join(", ")
    }`;
    if (this.#repeats >= REPEATS_MAX) {
      const error = `the same ${which} gave the same result ${this.#repeats} times in a row`;
      return { end: { stop_reason: "loop", error } };
    }
    if (this.#repeats !== REPEATS_TOLD) return {};
    return {
      tell: `The same ${which} gave the same result ${this.#repeats} times in a row. ` +
        "Do something else, or tell the person what is in the way. " +
        `The turn ends after ${REPEATS_MAX} times.`,
    };
  }
}
