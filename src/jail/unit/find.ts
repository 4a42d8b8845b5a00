/** The operation of a unit that finds files by parts of their names, as a person types them. */
import { fuzzyScore } from "../../base/fuzzy.ts";
import type { Found } from "../../protocol/schemas/files.ts";
import type { OpContext } from "./files.ts";
import type { UnitArgs } from "./protocol.ts";
import { walk } from "./walk.ts";

/** Entries to read, ignored ones too; a larger tree is searched in part. */
const READ_MAX = 100_000;
const DEFAULT_FOUND = 20;
const MAX_FOUND = 200;
/** Longer paths are left out, so that an answer stays small. */
const PATH_MAX = 500;

interface Ranked {
  path: string;
  score: number;
}

/**
 * `find {query, limit?}`: the files and directories whose paths fit each word best, as JSON;
 * directories end with a slash. Ignored files are left out.
 */
export async function find({ fs, pace }: OpContext, args: UnitArgs): Promise<string> {
  const words = args.string("query", "").split(/\s+/).filter((it) => it !== "");
  const limit = args.count("limit", DEFAULT_FOUND, MAX_FOUND);
  let best: Ranked[] = [];
  const budget = { entries: READ_MAX };
  for (const { path, kind } of walk(fs, "", budget)) {
    await pace.step();
    const shown = kind === "directory" ? `${path}/` : path;
    const score = shown.length > PATH_MAX ? undefined : scoreOf(shown, words);
    if (score === undefined) continue;
    best.push({ path: shown, score });
    if (best.length > 20 * limit) best = top(best, limit);
  }
  const paths = top(best, limit).map(({ path }) => path);
  return JSON.stringify({ paths, complete: budget.entries > 0 } satisfies Found);
}

/** @returns undefined if it does not fit all words */
function scoreOf(path: string, words: readonly string[]): number | undefined {
  if (words.length === 0) return fuzzyScore(path, "");
  let sum = 0;
  for (const word of words) {
    const score = fuzzyScore(path, word);
    if (score === undefined) return undefined;
    sum += score;
  }
  return sum;
}

function top(found: Ranked[], limit: number): Ranked[] {
  return found.sort((a, b) => b.score - a.score).slice(0, limit);
}
