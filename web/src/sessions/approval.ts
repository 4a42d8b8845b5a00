import type { Params } from "../rpc/api.ts";

/** What a session does without asking. */
export type Approval = NonNullable<Params<"session.start">["approval"]>;

/** The words for each. */
export const APPROVALS: Record<Approval, string> = {
  ask: "Ask before it writes or runs anything",
  auto: "Let it do everything",
  read_only: "Let it only read",
};
