import { busVerbs } from "./bus.ts";
import { costVerbs } from "./cost.ts";
import { daemonVerbs } from "./daemon.ts";
import type { Verb } from "./define.ts";
import { descentVerbs } from "./descent.ts";
import { lanesVerbs } from "./lanes.ts";
import { ledgerVerbs } from "./ledger.ts";
import { memoryVerbs } from "./memory.ts";
import { queueVerbs } from "./queue.ts";
import { sessionVerbs } from "./session.ts";
import { taskVerbs } from "./task.ts";

/** Every verb there is. */
export const VERBS: readonly Verb[] = [
  ...sessionVerbs,
  ...lanesVerbs,
  ...ledgerVerbs,
  ...memoryVerbs,
  ...costVerbs,
  ...descentVerbs,
  ...queueVerbs,
  ...taskVerbs,
  ...busVerbs,
  ...daemonVerbs,
];
