/** Directories below a session's own whose rules count, because calls used them. */
import { dirname, join } from "@std/path";
import { relativePath, RootedError } from "../../jail/rooted_path.ts";
import { isWithin } from "../../os/paths.ts";
import type { SessionState } from "../../session/session_state.ts";
import type { ToolCall } from "../../models/model.ts";
import { RULES_NAMES } from "./rules.ts";

/** Third-party code, whose rules are not the project's. */
const FOREIGN = new Set(["node_modules", "bower_components", "site-packages", "vendor"]);
/** Whose rules are kept current. */
const DEEPER_MAX = 50;

/** Returns the paths in calls, as the model wrote them. */
export function pathsOf(calls: readonly ToolCall[]): string[] {
  return calls.flatMap(({ args }) => {
    const { path } = (args ?? {}) as Record<string, unknown>;
    return typeof path === "string" && path !== "" ? [path] : [];
  });
}

/**
 * Returns the directories below the session's that lead to paths, and the paths themselves, which
 * may be directories. Leaves out hidden directories and those with third-party code.
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
  // The home directory is unknown here.
  if (/^~(?:\/|$)/.test(path)) return [];
  try {
    return relativePath(path, workdir).split("/").filter((part) => part !== "");
  } catch (error) {
    // The call was refused too.
    if (error instanceof RootedError) return [];
    throw error;
  }
}

/** Reports whether a directory may have rules. */
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

/** Returns directories below the session's whose rules were told or unreadable, and `more`. */
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
