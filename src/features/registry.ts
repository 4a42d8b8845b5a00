import { busVerbs } from "./bus/verbs.ts";
import { cortexVerbs } from "./memory/verbs.ts";
import { costVerbs } from "./sessions/cost_verbs.ts";
import { daemonVerbs } from "./control/verbs.ts";
import type { Verb } from "../verbs/define.ts";
import { descentVerbs } from "./missions/descent_verbs.ts";
import { historyVerbs } from "./sessions/history_verbs.ts";
import { lanesVerbs } from "./sessions/lane_verbs.ts";
import { ledgerVerbs } from "./sessions/ledger_verbs.ts";
import { mcpVerbs } from "./tool_servers/verbs.ts";
import { memoryVerbs } from "./memory/query_verb.ts";
import { missionVerbs } from "./missions/verbs.ts";
import { legacyMissionVerbs } from "./missions/legacy_verbs.ts";
import { queueVerbs } from "./tasks/queue_verbs.ts";
import { serviceVerbs } from "./service/verbs.ts";
import { sessionVerbs } from "./sessions/verbs.ts";
import { taskVerbs } from "./tasks/verbs.ts";
import { tuiVerbs } from "./tui/verbs.ts";
import { verifyVerbs } from "./verify/verbs.ts";
import { worktreeVerbs } from "./worktree/verbs.ts";

/** Every verb; clients can be typed by it. */
export const TYPED_VERBS = [
  ...sessionVerbs,
  ...historyVerbs,
  ...lanesVerbs,
  ...ledgerVerbs,
  ...memoryVerbs,
  ...cortexVerbs,
  ...costVerbs,
  ...descentVerbs,
  ...missionVerbs,
  ...legacyMissionVerbs,
  ...queueVerbs,
  ...taskVerbs,
  ...worktreeVerbs,
  ...verifyVerbs,
  ...mcpVerbs,
  ...tuiVerbs,
  ...busVerbs,
  ...serviceVerbs,
  ...daemonVerbs,
];

/** Every verb. */
export const VERBS: readonly Verb[] = TYPED_VERBS;
