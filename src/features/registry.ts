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
import { sessionVerbs } from "./sessions/verbs.ts";
import { taskVerbs } from "./tasks/verbs.ts";
import { verifyVerbs } from "./verify/verbs.ts";
import { worktreeVerbs } from "./worktree/verbs.ts";
import type { Hub } from "../session/hub.ts";
import { feature } from "../verbs/feature.ts";
import type { Bus } from "./bus/bus.ts";
import type { ControlServices } from "./control/services.ts";
import type { MemoryServices } from "./memory/open.ts";
import type { MissionServices } from "./missions/open.ts";
import { service } from "./service/feature.ts";
import type { SessionServices } from "./sessions/verbs.ts";
import type { TaskServices } from "./tasks/open.ts";
import type { ToolServerServices } from "./tool_servers/open.ts";
import { tui } from "./tui/feature.ts";
import type { VerifyServices } from "./verify/verbs.ts";
import type { WorktreeServices } from "./worktree/verbs.ts";

/** The services of a feature that opens nothing itself. */
const given = <S>(services: S) => ({ services });

/** Every feature. */
export const FEATURES = [
  feature(
    "sessions",
    [...sessionVerbs, ...historyVerbs, ...lanesVerbs, ...ledgerVerbs],
    given<SessionServices>,
  ),
  feature("memory", [...memoryVerbs, ...cortexVerbs], given<MemoryServices>),
  feature("cost", costVerbs, given<{ hub: Hub }>),
  feature(
    "missions",
    [...descentVerbs, ...missionVerbs, ...legacyMissionVerbs],
    given<MissionServices & { hub: Hub }>,
  ),
  feature("tasks", [...queueVerbs, ...taskVerbs], given<TaskServices>),
  feature("worktrees", worktreeVerbs, given<WorktreeServices>),
  feature("verify", verifyVerbs, given<VerifyServices>),
  feature("tool servers", mcpVerbs, given<ToolServerServices>),
  tui,
  feature("bus", busVerbs, given<{ bus: Bus }>),
  service,
  feature("control", daemonVerbs, given<ControlServices>),
];

/** Every verb; clients can be typed by it. */
export const TYPED_VERBS = FEATURES.flatMap(({ verbs }) => [...verbs]);

/** Every verb. */
export const VERBS: readonly Verb[] = TYPED_VERBS;
