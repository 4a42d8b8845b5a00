/**
 * How a criterion is made to pass (contract.md section 4, descent tiers). Each failed check is
 * classified, and its class decides what is tried next, a limited number of times. A fault of the
 * code ends in a repair or a failure, never in a soft pass.
 */
import type { EventData, Tier, TierStatus } from "../../protocol/events.ts";
import type { TurnResult } from "../../session/work_session.ts";
import type { CheckResult } from "./checks.ts";
import { classify } from "./classify.ts";
import type { CriterionStatus, FailureClass } from "./mission.ts";
import {
  classifyPrompt,
  environmentPrompt,
  judgePrompt,
  readClass,
  readVerdict,
  refactorPrompt,
  repairPrompt,
  rewritePrompt,
} from "./prompts.ts";
import { type Check, type CriterionSpec, readCheck } from "./spec.ts";

export type TierStep = Omit<EventData["descent.tier_changed"], "ac_id">;

export interface DescentParts {
  /** Examines a check without running it. @returns the problem, if any */
  examine(check: Check): Promise<CheckResult | undefined>;
  check(check: Check): Promise<CheckResult>;
  /** Runs a turn where the check is run. */
  ask(prompt: string): Promise<TurnResult>;
  /** Whether something less than the spec requires is allowed. */
  allowed(tier: Tier, reason: string): Promise<boolean>;
  /** Records evidence. @returns its name. */
  evidence(event: string, text: string): string;
  step(step: TierStep): Promise<void>;
  /** Records that another check replaced the criterion's. */
  rewritten(check: Check): void;
}

type Mending = "T4" | "T5" | "T6" | "T7";

/** How often each repair is tried for one criterion. */
const TRIES: Record<Mending, number> = { T4: 3, T5: 2, T6: 1, T7: 1 };
/** What is tried for each class, in this order. */
const WAYS: Record<FailureClass, readonly Mending[]> = {
  code_bug: ["T4"],
  environment: ["T5"],
  ac_bug: ["T6", "T7"],
};

export class Descent {
  readonly criterion: CriterionSpec;
  /** Whether the last {@linkcode Descent.run} may have changed anything. */
  changed = false;
  readonly #parts: DescentParts;
  readonly #tried: Record<Mending, number> = { T4: 0, T5: 0, T6: 0, T7: 0 };
  #check: Check;

  /** @param check replaces the criterion's own, if that was rewritten. */
  constructor(criterion: CriterionSpec, check: Check | undefined, parts: DescentParts) {
    this.criterion = criterion;
    this.#check = check ?? criterion;
    this.#parts = parts;
  }

  /** Checks the criterion and repairs failures; a second run continues with the remaining tries. */
  async run(): Promise<Extract<CriterionStatus, "passed" | "soft_passed" | "failed">> {
    this.changed = false;
    let mending: Mending | undefined;
    let failure = await this.#intent();
    while (true) {
      failure ??= await this.#carryOut();
      if (mending !== undefined) {
        await this.#step(mending, failure === undefined ? "passed" : "failed");
      }
      if (failure === undefined) return "passed";
      const failure_class = await this.#classify(failure);
      mending = await this.#mend(failure, failure_class);
      if (mending === undefined) return await this.#end(failure_class, failure);
      failure = undefined;
    }
  }

  /** T1. @returns what is wrong with the check itself. */
  async #intent(): Promise<CheckResult | undefined> {
    await this.#step("T1", "running");
    const problem = await this.#parts.examine(this.#check);
    const evidence_ref = problem && this.#parts.evidence("check_refused", problem.output);
    await this.#step("T1", problem === undefined ? "passed" : "failed", { evidence_ref });
    return problem;
  }

  /** T2. @returns how it failed. */
  async #carryOut(): Promise<CheckResult | undefined> {
    await this.#step("T2", "running");
    const { command, file_exists, content_match } = this.#check;
    const has_check = (command ?? file_exists ?? content_match) !== undefined;
    const result = has_check ? await this.#parts.check(this.#check) : await this.#judge();
    const event = result.passed ? "check_passed" : "check_failed";
    const evidence_ref = this.#parts.evidence(event, result.output);
    await this.#step("T2", result.passed ? "passed" : "failed", { evidence_ref });
    return result.passed ? undefined : result;
  }

  async #judge(): Promise<CheckResult> {
    const { stop_reason, message, error } = await this.#parts.ask(judgePrompt(this.criterion));
    const verdict = stop_reason === "ok" ? readVerdict(message) : undefined;
    const output = verdict === undefined
      ? `[no verdict] ${error ?? message.trim()}`
      : message.trim();
    return { kind: "judged", passed: verdict === true, output };
  }

  /** T3: by rule if possible, else by the model; in doubt it is the code. */
  async #classify(failure: CheckResult): Promise<FailureClass> {
    await this.#step("T3", "running");
    let failure_class = classify(failure);
    if (failure_class === undefined) {
      const prompt = classifyPrompt(this.criterion, this.#check, failure.output);
      const { message } = await this.#parts.ask(prompt);
      failure_class = readClass(message) ?? "code_bug";
    }
    const evidence_ref = this.#parts.evidence("classified", failure_class);
    await this.#step("T3", "passed", { evidence_ref, failure_class });
    return failure_class;
  }

  /** T4 to T7. @returns the tier that was tried, if one was left. */
  async #mend(failure: CheckResult, failure_class: FailureClass): Promise<Mending | undefined> {
    for (const tier of WAYS[failure_class]) {
      while (this.#tried[tier] < TRIES[tier]) {
        this.#tried[tier]++;
        await this.#step(tier, "running", { failure_class });
        const done = tier === "T6"
          ? await this.#rewrite(failure)
          : await this.#change(tier, failure);
        if (done) return tier;
        await this.#step(tier, "failed", { failure_class });
      }
    }
    return undefined;
  }

  async #change(tier: "T4" | "T5" | "T7", { output }: CheckResult): Promise<boolean> {
    const prompt = { T4: repairPrompt, T5: environmentPrompt, T7: refactorPrompt }[tier];
    this.changed = true;
    const { stop_reason } = await this.#parts.ask(prompt(this.criterion, this.#check, output));
    return stop_reason === "ok";
  }

  async #rewrite({ output }: CheckResult): Promise<boolean> {
    const { message } = await this.#parts.ask(rewritePrompt(this.criterion, this.#check, output));
    const check = readCheck(message);
    if (check === undefined) return false;
    const text = JSON.stringify(check);
    if (!await this.#parts.allowed("T6", `check ${this.criterion.id} by ${text} instead`)) {
      return false;
    }
    this.#parts.evidence("check_rewritten", text);
    this.#parts.rewritten(check);
    this.#check = check;
    return true;
  }

  /** T8, or the failure of the last try. */
  async #end(
    failure_class: FailureClass,
    { output }: CheckResult,
  ): Promise<"soft_passed" | "failed"> {
    if (failure_class === "code_bug") {
      await this.#step("T4", "failed", { failure_class });
      return "failed";
    }
    await this.#step("T8", "running", { failure_class });
    const why = `let ${this.criterion.id} pass unchecked (failure class ${failure_class})`;
    const allowed = await this.#parts.allowed("T8", why);
    const evidence_ref = this.#parts.evidence(allowed ? "soft_passed" : "not_let_pass", output);
    await this.#step("T8", allowed ? "passed" : "failed", { failure_class, evidence_ref });
    return allowed ? "soft_passed" : "failed";
  }

  async #step(tier: Tier, status: TierStatus, more: Partial<TierStep> = {}): Promise<void> {
    await this.#parts.step({ tier, status, ...more });
  }
}
