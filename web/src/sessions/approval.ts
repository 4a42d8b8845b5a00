import type { Params } from "../rpc/api.ts";

/** What a session does without asking. */
export type Approval = NonNullable<Params<"session.start">["approval"]>;

/** The words for each. */
export const APPROVALS: Record<Approval, string> = {
  ask: "Ask before writing files or running commands",
  workspace: "Work in the directory, ask for anything else",
  auto: "Allow everything",
  read_only: "Allow reading only",
};

/** The words where there is little room, in the order of a choice. */
export const APPROVAL_WORDS: Record<Approval, string> = {
  ask: "asks first",
  workspace: "works in the directory",
  read_only: "reads only",
  auto: "allows everything",
};
