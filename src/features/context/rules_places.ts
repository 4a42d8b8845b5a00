/** The directories below a session's own whose rules count: those that its calls were about. */
import { dirname, join } from "@std/path";
import { relativePath, RootedError } from "../../jail/rooted_path.ts";
import { isWithin } from "../../os/paths.ts";
import type { SessionState } from "../../session/session_state.ts";
import type { ToolCall } from "../../models/model.ts";
import { RULES_NAMES } from "./rules.ts";

/** What other people wrote and the project only uses: their rules are not those of the project. */
const FOREIGN = new Set(["node_modules", "bower_components", "site-packages", "vendor"]);
/** Directories of which the rules are kept up to date. */
const DEEPER_MAX = 50;

/** The paths that calls are about, as the model gave them. */
export function pathsOf(calls: readonly ToolCall[]): string[] {
  return calls.flatMap(({ args }) => {
    const { path } = (args ?? {}) as Record<string, unknown>;
    return typeof path === "string" && path !== "" ? [path] : [];
  });
}

/**
 * The directories from a session's own, without it, down to paths. A path itself is among them: it
 * may be a directory. What lies in a hidden directory, or in one for the work of others, is left out.
 *
 * @param workdir absolute real path.
 */
export function touchedDirectories(paths: readonly string[], workdir: string): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    let directory = workdir;
    for (const part of partsOf(path, workdir)) {
      if (part.startsWith(".") || FOREIGN.has(part)) break;
      directory = join(directory, part);
      found.add(directory);
    }
  }
  return [...found];
}

function partsOf(path: string, workdir: string): string[] {
  // The home directory, which is not known here.
  if (/^~(?:\/|$)/.test(path)) return [];
  try {
    return relativePath(path, workdir).split("/").filter((part) => part !== "");
  } catch (error) {
    // It was refused to the call as well.
    if (error instanceof RootedError) return [];
    throw error;
  }
}

/** Whether a directory may have rules. */
export function hasRules(directory: string): boolean {
  return RULES_NAMES.some((name) => {
    try {
      Deno.lstatSync(join(directory, name));
      return true;
    } catch {
      return false;
    }
  });
}

/** The directories below a session's own whose rules were told or could not be read, and more. */
export function deeperPlaces(
  { files, skipped }: SessionState["rules"],
  workdir: string,
  more: readonly string[],
): string[] {
  const known = [...files, ...skipped]
    .filter(({ imported_by }) => imported_by === undefined)
    .map(({ path }) => dirname(path))
    .filter((directory) => directory !== workdir && isWithin(directory, workdir));
  return [...new Set([...known, ...more])].slice(0, DEEPER_MAX).sort();
}
