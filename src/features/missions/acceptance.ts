import { examineCheck, runCheck } from "./checks.ts";
import { Descent } from "./descent.ts";
import type { MissionLane } from "./report.ts";
import type { CriterionSpec } from "./spec.ts";
import type { Job, RunContext } from "./job.ts";

export interface AcceptanceOptions {
  criteria: readonly CriterionSpec[];
  /** Where they are checked. */
  job: Job;
  lane: MissionLane;
  signal: AbortSignal;
}

export type Unmet = string[];

/** How often to check all again because a repair followed a passed check. */
const ROUNDS_MAX = 4;

/**
 * Checks the criteria of a mission's session, repairs what fails, and integrates the changes. Only
 * then they are recorded as passed, so that no repair is lost.
 *
 * @returns the ids of the unmet ones.
 */
export async function accept(context: RunContext, options: AcceptanceOptions): Promise<Unmet> {
  const { mission, store } = context;
  const descents = options.criteria.map((criterion) => {
    const { rewritten } = store.criteria(mission.id).get(criterion.id)!;
    return new Descent(criterion, rewritten, descentParts(context, options, criterion.id));
  });
  const statuses = await runAll(context, descents);
  const unmet = descents.map(({ criterion }) => criterion.id)
    .filter((ac_id) => statuses.get(ac_id) === "failed");
  if (unmet.length === 0) {
    await options.job.integrate(`Fix what the criteria of mission ${mission.spec.name} require`);
  }
  for (const [ac_id, status] of statuses) {
    // If another one failed, this was checked on work that is thrown away.
    const counts = unmet.length === 0 || status === "failed";
    store.setCriterion(mission.id, { ac_id, status: counts ? status : "pending" });
  }
  return unmet;
}

type Status = Awaited<ReturnType<Descent["run"]>>;

async function runAll(
  { mission, store }: RunContext,
  descents: readonly Descent[],
): Promise<Map<string, Status>> {
  const statuses = new Map<string, Status>();
  for (let round = 1;; round++) {
    let changed = false;
    for (const descent of descents) {
      const ac_id = descent.criterion.id;
      store.setCriterion(mission.id, { ac_id, status: "running" });
      const status = await descent.run();
      statuses.set(ac_id, status);
      if (status === "failed") return statuses;
      changed ||= descent.changed;
    }
    if (!changed) return statuses;
    if (round === ROUNDS_MAX) {
      // Repairing one keeps breaking another.
      for (const descent of descents) {
        if (descent.changed) statuses.set(descent.criterion.id, "failed");
      }
      return statuses;
    }
  }
}

function descentParts(
  { mission, store, report }: RunContext,
  { job, lane, signal }: AcceptanceOptions,
  ac_id: string,
): ConstructorParameters<typeof Descent>[2] {
  return {
    examine: (check) => examineCheck(check, job.checks, signal),
    check: (check) => runCheck(check, job.checks, signal),
    ask: (prompt) => job.ask(prompt),
    rewritten: (check) => store.setCriterion(mission.id, { ac_id, rewritten: check }),
    evidence: (event, detail) =>
      report.note({ ac_id, event, detail }, { failure: event === "check_failed" }),
    async step(step) {
      const { tier, failure_class, evidence_ref } = step;
      store.setCriterion(mission.id, {
        ac_id,
        tier,
        ...(failure_class === undefined ? {} : { failure_class }),
        ...(evidence_ref === undefined ? {} : { evidence_ref }),
      });
      await report.emit("descent.tier_changed", { ac_id, ...step });
    },
    async allowed(tier, reason) {
      if (mission.options.approval === "auto") return true;
      const rule = `mission ${mission.id} ${tier} ${ac_id}`;
      const request = { call_id: ac_id, tool: "mission.descend", args: { tier }, reason, rule };
      const decision = await report.session.approvals.ask(request, {
        lane_id: lane.id,
        signal,
      });
      return decision !== "deny";
    },
  };
}
