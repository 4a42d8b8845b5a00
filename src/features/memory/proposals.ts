/** What a session wants to remember by itself, as a person decides on it. */
import { type Proposal, reachesFar, REMEMBER } from "../../protocol/memory.ts";

/**
 * Whether what is remembered by itself needs the person's word in a session that asks; a plain fact
 * does not. What {@linkcode reachesFar} needs it in every session.
 */
export function asksFirst({ category, scope }: Proposal): boolean {
  return category !== "fact" || reachesFar(scope);
}

/** What a proposal is about, in a line for the person who decides on it. */
export function describeProposal({ category, content, scope }: Proposal): string {
  const far = scope === "Always" ? ", in every prompt" : "";
  const whom = reachesFar(scope) ? ` for ${scope} (also visible to hired work${far})` : "";
  return `remember as ${category}${whom}: ${content}`;
}

/** What `allow_always` lets through: entries of that category; of a scope that reaches far, this one. */
export function ruleOf({ category, scope, content }: Proposal): string {
  const rule = `${REMEMBER} ${category}`;
  return reachesFar(scope) ? `${rule} for ${scope}: ${content}` : rule;
}
