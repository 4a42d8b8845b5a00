/**
 * Judges deliverables: `completed` means that every criterion is met, and that the output critic
 * found nothing (contract.md section 9).
 */
import { criticise, type CriticOptions } from "../../agent/critic.ts";
import type { Outcome } from "./lifecycle.ts";
import type { Artifact, Deliverable, Extras } from "./task.ts";

export interface Judged {
  task_type: string;
  deliverable: Deliverable;
  artifacts: Artifact[];
  /** The contents of the text artifacts. */
  texts: readonly string[];
  canary: string;
}

/** Media types that a reader or a model would treat as text. */
const TEXT = /^(?:text\/(?!x-diff|csv)|application\/(?:json|xhtml\+xml)|image\/svg)/;

/** Reports whether the critic reads artifacts of a media type. */
export function isCriticised(media_type: string): boolean {
  return TEXT.test(media_type);
}

/** Returns the outcome. @throws {Error} without a deliverable, which is a bug in the executor. */
export function judge({ task_type, deliverable, artifacts, texts, canary }: Judged): Outcome {
  const { summary, size, verification, usage, known_hosts = [], canaries = [] } = deliverable ?? {};
  if (typeof summary !== "string" || !Number.isSafeInteger(size)) {
    throw new Error(`the executor of ${task_type} returned neither a summary nor an error`);
  }
  const extras = extrasJson({ artifacts, verification, usage });
  const unmet = verification?.find(({ passed }) => !passed);
  if (unmet !== undefined) {
    return { kind: "failed", error: `not met: ${unmet.criterion}: ${unmet.evidence}`, extras };
  }
  const options: CriticOptions = {
    canaries: [canary, ...canaries],
    known_hosts: new Set(known_hosts),
  };
  for (const text of [summary, ...texts]) {
    const finding = criticise(text, options);
    if (finding === undefined) continue;
    const error = `refused by the output critic, rule ${finding.rule}: ${finding.evidence}`;
    return { kind: "failed", error, extras: extrasJson({ usage }) };
  }
  return { kind: "completed", summary, size, extras };
}

/** Returns the fields of a record that have no columns, as JSON. */
export function extrasJson({ artifacts, ...extras }: Extras): string {
  return JSON.stringify({ artifacts: artifacts?.length ? artifacts : undefined, ...extras });
}
