import { busVerbs } from "./bus.ts";
import { cortexVerbs } from "./cortex.ts";
import { costVerbs } from "./cost.ts";
import { daemonVerbs } from "./daemon.ts";
import type { Verb } from "./define.ts";
import { descentVerbs } from "./descent.ts";
import { historyVerbs } from "./history.ts";
import { lanesVerbs } from "./lanes.ts";
import { ledgerVerbs } from "./ledger.ts";
import { mcpVerbs } from "./mcp.ts";
import { memoryVerbs } from "./memory.ts";
import { missionVerbs } from "./mission.ts";
import { legacyMissionVerbs } from "./mission_legacy.ts";
import { queueVerbs } from "./queue.ts";
import { serviceVerbs } from "./service.ts";
import { sessionVerbs } from "./session.ts";
import { taskVerbs } from "./task.ts";
import { tuiVerbs } from "./tui.ts";
import { verifyVerbs } from "./verify.ts";
import { worktreeVerbs } from "./worktree.ts";

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
