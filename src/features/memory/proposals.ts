/** What a session wants to remember, as a person decides on it. */
import { type Proposal, reachesFar, REMEMBER } from "../../protocol/memory.ts";

/**
 * Reports whether a session that asks must ask first: for all but plain facts. For what {@linkcode
 * reachesFar}, every session asks.
 */
export function asksFirst({ category, scope }: Proposal): boolean {
  return category !== "fact" || reachesFar(scope);
}

/** Describes a proposal in one line. */
export function describeProposal({ category, content, scope }: Proposal): string {
  const far = scope === "Always" ? ", in every prompt" : "";
  const whom = reachesFar(scope) ? ` for ${scope} (also visible to hired work${far})` : "";
  return `remember as ${category}${whom}: ${content}`;
}

/**
 * Returns what `allow_always` covers: the category, or for a scope that reaches far only this
 * entry.
 */
export function ruleOf({ category, scope, content }: Proposal): string {
  const rule = `${REMEMBER} ${category}`;
  return reachesFar(scope) ? `${rule} for ${scope}: ${content}` : rule;
}
