import { useApp } from "../app.ts";
import { StatusChip } from "../missions/status_chip.tsx";
import type { Result } from "../rpc/api.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Ago } from "../ui/time.tsx";
import type { Criterion, Mission } from "./steps.ts";

type Tier = NonNullable<Criterion["tier"]>;
type Attempt = Result<"descent.tier_history">["attempts"][number];

/** What happens at each tier. */
const TIERS: Record<Tier, string> = {
  T1: "reviewing the check",
  T2: "running the check",
  T3: "classifying the failure",
  T4: "repairing the code",
  T5: "repairing the environment",
  T6: "rewriting the check",
  T7: "making the code checkable",
  T8: "passing without a check",
};
const CLASSES: Record<string, string> = {
  code_bug: "a fault of the code",
  ac_bug: "a fault of the criterion",
  environment: "a fault of the environment",
};
/** Beginning one of these is a round of repair. */
const REPAIRS: readonly Tier[] = ["T4", "T5", "T6", "T7"];

interface CriterionProps {
  mission: Mission;
  criterion: Criterion;
}

/** A criterion: how it is checked, how that stands, and what shows it. */
export function CriterionItem({ mission, criterion }: CriterionProps) {
  const { client } = useApp();
  const { id, description, status, tier, failure_class, evidence_ref, rewritten } = criterion;
  const { mission_id, session_id } = mission;
  return (
    <li class="step">
      <header>
        <strong>{id}</strong>
        <StatusChip status={status} />
        {tier !== undefined && <span class="badge" title={TIERS[tier]}>{tier}</span>}
      </header>
      <p class="step-text">{description}</p>
      <Check check={criterion} />
      {rewritten !== undefined && (
        <>
          <p class="step-note">It was replaced by this check:</p>
          <Check check={rewritten} />
        </>
      )}
      {tier !== undefined && status !== "passed" && (
        <p class="facts">
          <span>{tier}: {TIERS[tier]}</span>
          {failure_class !== undefined && <span>{CLASSES[failure_class]}</span>}
        </p>
      )}
      {tier !== undefined && (
        <Disclosure
          label={`History of ${id}`}
          version={`${tier} ${status} ${evidence_ref}`}
          load={() => client.ask("descent.tier_history", { session_id, ac_id: id })}
        >
          {({ attempts }) => <History attempts={attempts} />}
        </Disclosure>
      )}
      {evidence_ref !== undefined && (
        <Disclosure
          label={`Evidence for ${id}`}
          version={evidence_ref}
          load={() => {
            const since_seq = Number(evidence_ref.split("#")[1]) - 1;
            return client.ask("mission.logs", { mission_id, since_seq, limit: 1 });
          }}
        >
          {({ entries }) => (
            <pre class="evidence" tabIndex={0} role="group" aria-label={`Evidence for ${id}`}>
              {entries[0]?.detail || "No output."}
            </pre>
          )}
        </Disclosure>
      )}
    </li>
  );
}

/** How a criterion is checked, in its own words. */
function Check({ check }: { check: Pick<Criterion, "command" | "file_exists" | "content_match"> }) {
  const { command, file_exists, content_match } = check;
  if (command !== undefined) return <pre class="check-text"><code>{command}</code></pre>;
  if (file_exists !== undefined) {
    return (
      <p class="step-note">
        the file <code>{file_exists}</code> exists
      </p>
    );
  }
  if (content_match === undefined) return <p class="step-note">judged by the model</p>;
  const { file, pattern } = content_match;
  return (
    <p class="step-note">
      <code>{file}</code> matches <code>{pattern}</code>
    </p>
  );
}

function History({ attempts }: { attempts: readonly Attempt[] }) {
  const rounds =
    attempts.filter(({ tier, status }) => REPAIRS.includes(tier) && status === "running").length;
  return (
    <>
      <p class="step-note">
        {rounds === 0
          ? "No repair"
          : rounds === 1
          ? "1 repair attempt"
          : `${rounds} repair attempts`}
      </p>
      <ol class="tiers">
        {attempts.map(({ tier, status, at, failure_class }, n) => (
          <li key={n}>
            <span class={`tier ${status}`}>{tier} {status}</span>
            <span>
              {TIERS[tier]}
              {failure_class !== undefined && `: ${CLASSES[failure_class] ?? failure_class}`}
            </span>
            <Ago at={at} />
          </li>
        ))}
      </ol>
    </>
  );
}
