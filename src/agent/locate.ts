/** Finds the files that the arguments of a call name, before it runs. */
import { isAbsolute, join } from "@std/path";
import type { Located } from "../jail/unit/locate.ts";
import type { LocateScope, Tool, ToolParts } from "./tool.ts";

/** Finds the one path of a call. */
export function locating(parts: ToolParts): NonNullable<Tool["locate"]> {
  return async (args, scope) => {
    const { path } = args as { path?: string };
    const { paths, ...found } = await located(parts, path === undefined ? [] : [path], scope);
    return { args: path === undefined ? args : { ...args as object, path: paths[0] }, ...found };
  };
}

const PATCH_PATH = /^(\*\*\* (?:(?:Add|Update|Delete) File|Move to): )([^\r\n]+)/gm;

/** Finds the paths in the text of a patch. */
export function locatingInPatch(parts: ToolParts): NonNullable<Tool["locate"]> {
  return async (args, scope) => {
    const { patch } = args as { patch: string };
    const given = [...patch.matchAll(PATCH_PATH)].map(([, , path]) => path);
    const { paths, ...found } = await located(parts, given, scope);
    let n = 0;
    const named = patch.replace(PATCH_PATH, (_, header) => header + paths[n++]);
    return { args: { patch: named }, ...found };
  };
}

async function located(
  { units, home }: ToolParts,
  paths: readonly string[],
  { signal, ...scope }: LocateScope,
): Promise<{ paths: readonly string[]; notes: string[]; problem?: string }> {
  const certain = (path: string) => !path.startsWith("~") && isPlainlyThere(path, scope.workdir);
  if (paths.every(certain)) return { paths, notes: [] };
  const { ok, output } = await units.call("locate", { paths, home }, scope, signal);
  if (!ok) return { paths, notes: [], problem: output };
  const found: Located[] = JSON.parse(output);
  return {
    paths: found.map(({ path }) => path),
    notes: found.flatMap(({ note }) => note === undefined ? [] : [note]),
  };
}

/** Spares the unit most calls. Nothing is read, and no link is followed. */
function isPlainlyThere(path: string, workdir: string): boolean {
  try {
    Deno.lstatSync(isAbsolute(path) ? path : join(workdir, path));
    return true;
  } catch {
    return false;
  }
}
