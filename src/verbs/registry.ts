import { daemonVerbs } from "./daemon.ts";
import type { Verb } from "./define.ts";
import { sessionVerbs } from "./session.ts";

/** Every verb there is. */
export const VERBS: readonly Verb[] = [...sessionVerbs, ...daemonVerbs];
