/** What a session does without asking, the widest first; see contract.md section 5. */
export const APPROVALS = ["auto", "workspace", "ask", "read_only"] as const;

export type Approval = typeof APPROVALS[number];

/** In the order of the key that changes the mode. A person must mean `auto`, so no key leads there. */
const BY_KEY: readonly Approval[] = ["ask", "workspace", "read_only"];

/** Returns the mode that follows when a person presses the key for it. */
export function nextApproval(now: string): Approval {
  return BY_KEY[(BY_KEY.findIndex((it) => it === now) + 1) % BY_KEY.length];
}
