import type { Section } from "../config/section.ts";
import type { Verb } from "../verbs/define.ts";
import { acpAgents } from "./acp_agents/feature.ts";
import { approvals } from "./approvals/feature.ts";
import { background } from "./background/feature.ts";
import { bus } from "./bus/feature.ts";
import { context } from "./context/feature.ts";
import { controlOf } from "./control/feature.ts";
import { drafts } from "./drafts/feature.ts";
import { files } from "./files/feature.ts";
import { hire } from "./hire/feature.ts";
import { hooks } from "./hooks/feature.ts";
import { laterFiles } from "./later_files/feature.ts";
import { memory } from "./memory/feature.ts";
import { missions } from "./missions/feature.ts";
import { models } from "./models/feature.ts";
import { permissions } from "./permissions/feature.ts";
import { plan } from "./plan/feature.ts";
import { questions } from "./questions/feature.ts";
import { search } from "./search/feature.ts";
import { service } from "./service/feature.ts";
import { sessions } from "./sessions/feature.ts";
import { skills } from "./skills/feature.ts";
import { subagents } from "./subagents/feature.ts";
import { tasks } from "./tasks/feature.ts";
import { titles } from "./titles/feature.ts";
import { toolServers } from "./tool_servers/feature.ts";
import { transfer } from "./transfer/feature.ts";
import { tui } from "./tui/feature.ts";
import { undo } from "./undo/feature.ts";
import { update } from "./update/feature.ts";
import { verify } from "./verify/feature.ts";
import { webSearch } from "./web_search/feature.ts";
import { worktrees } from "./worktree/feature.ts";

/** The features, but for the one that controls them all. */
const OTHERS = [
  bus,
  permissions,
  hooks,
  sessions,
  approvals,
  drafts,
  skills,
  context,
  memory,
  titles,
  search,
  transfer,
  plan,
  questions,
  background,
  subagents,
  toolServers,
  acpAgents,
  webSearch,
  missions,
  tasks,
  hire,
  worktrees,
  undo,
  laterFiles,
  files,
  verify,
  tui,
  service,
  update,
  models,
];

/** Every feature. They open in this order, so each can use those before it, and stop in reverse. */
export const FEATURES = [
  ...OTHERS,
  controlOf(OTHERS.flatMap(({ sections }) => [...sections])),
];

/** The tables of daemon.toml that belong to features. */
export const SECTIONS: readonly Section[] = FEATURES.flatMap(({ sections }) => [...sections]);

/** Every verb; clients can be typed by it. */
export const TYPED_VERBS = FEATURES.flatMap(({ verbs }) => [...verbs]);

/** Every verb. */
export const VERBS: readonly Verb[] = TYPED_VERBS;
