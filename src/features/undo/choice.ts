/** Chooses which files a restoration changes, and which it keeps because they would be lost. */
import { SvcError } from "../../protocol/errors.ts";
import type { FileDifference } from "./file_state.ts";

/** Whether changes of others are overwritten: all, none, or only those of the named files. */
export type Force = boolean | readonly string[];

/** `changed`: somebody changed it since. `not_stored`: what is there is in no state. */
type KeptReason = "changed" | "not_stored";

export interface KeptPath {
  path: string;
  reason: KeptReason;
}

export interface Choice {
  chosen: FileDifference[];
  kept: KeptPath[];
  /** Why nothing is restored. */
  refusal?: SvcError;
}

/** Files in an answer. */
export const PATHS_NAMED = 1_000;
/** Files in a sentence. */
const FEW = 20;

/**
 * Chooses among the differences between now and the state to restore.
 * @param options.foreign files that somebody changed since
 * @param options.only the one file that is asked for
 * @param options.blocked files that cannot be written without losing something
 * @throws {SvcError} validation when `force` names a file that would not change
 */
export function choose(
  differences: readonly FileDifference[],
  { only, foreign, blocked, force }: {
    only?: string;
    foreign: ReadonlySet<string>;
    blocked: ReadonlySet<string>;
    force: Force;
  },
): Choice {
  const named = typeof force === "boolean" ? undefined : new Set(force);
  requireKnown(named, differences);
  const kept = new Map<string, KeptReason>();
  for (const { path } of differences) {
    const forced = named?.has(path) ?? force === true;
    if (blocked.has(path)) kept.set(path, "not_stored");
    else if (foreign.has(path) && !forced) kept.set(path, "changed");
  }
  const refused = [...kept.keys()].filter((path) => named?.has(path) ?? true);
  keepBelow(differences, kept);
  return {
    chosen: differences.filter(({ path }) => !kept.has(path)),
    kept: [...kept].map(([path, reason]) => ({ path, reason })),
    refusal: refused.length === 0 ? undefined : refusalOf(refused, kept, only),
  };
}

function requireKnown(
  named: ReadonlySet<string> | undefined,
  differences: readonly FileDifference[],
): void {
  const known = new Set(differences.map(({ path }) => path));
  const unknown = [...named ?? []].find((path) => !known.has(path));
  if (unknown === undefined) return;
  throw new SvcError("validation", `force names ${unknown}, which would not change`, {
    hint: "a dry run names the files that would change or be kept",
  });
}

/** Keeps files that need a directory where a kept file is, or the other way round. */
function keepBelow(
  differences: readonly FileDifference[],
  kept: Map<string, KeptReason>,
): void {
  const stays = differences.filter(({ path, from }) => from !== undefined && kept.has(path))
    .map(({ path }) => path);
  if (stays.length === 0) return;
  const files = new Set(stays);
  const directories = new Set(stays.flatMap(directoriesOf));
  for (const { path, to } of differences) {
    if (to === undefined || kept.has(path)) continue;
    if (directories.has(path) || directoriesOf(path).some((it) => files.has(it))) {
      kept.set(path, "changed");
    }
  }
}

/** Returns the directories above a path. */
export function directoriesOf(path: string): string[] {
  const found: string[] = [];
  for (let cut = path.indexOf("/"); cut > 0; cut = path.indexOf("/", cut + 1)) {
    found.push(path.slice(0, cut));
  }
  return found;
}

function refusalOf(
  paths: readonly string[],
  kept: ReadonlyMap<string, KeptReason>,
  only: string | undefined,
): SvcError {
  const changed = paths.filter((path) => kept.get(path) === "changed");
  const shown = changed.length > 0 ? changed : paths;
  const details = { files: shown.slice(0, PATHS_NAMED), files_changed: shown.length };
  if (changed.length === 0) {
    return new SvcError("conflict", `what is in the way was not kept: ${few(shown)}`, {
      hint: "move it away: it is ignored by git, too large, or of another kind",
      details,
    });
  }
  const files = shown.length === 1 ? "1 file was" : `${shown.length} files were`;
  return new SvcError("conflict", `${files} changed since by somebody else: ${few(shown)}`, {
    hint: only === undefined ? hintFor(shown[0]) : `overwrite it with force (\`--force\`, or ` +
      `\`/undo ${only} force\` in a chat); undo brings it back`,
    details,
  });
}

function hintFor(path: string): string {
  return `overwrite only ${path} with force: [${
    JSON.stringify(path)
  }] (\`--force-file ${path}\`, ` +
    `or \`/undo force ${path}\` in a chat), all with force: true, none with force: [] ` +
    "(`--keep`); undo brings them back";
}

function few(paths: readonly string[]): string {
  const more = paths.length > FEW ? ` and ${paths.length - FEW} more` : "";
  return paths.slice(0, FEW).join(", ") + more;
}
