/** Finds the files that the arguments of a call name, before it runs. */
import { isAbsolute, join, normalize } from "@std/path";
import { addedAt, type AddedRoot } from "../jail/added_directories.ts";
import { stripWorkdir } from "../jail/rooted_path.ts";
import type { Located } from "../jail/unit/locate.ts";
import type { Access, LocatedArgs, LocateScope, Tool, ToolParts } from "./tool.ts";

type Locate = NonNullable<Tool["locate"]>;

/** Finds the one path of a call. */
export function locating(parts: ToolParts, access: Access): Locate {
  return async (args, scope) => {
    const { path } = args as { path?: string };
    const { paths, ...found } = await located(
      parts,
      path === undefined ? [] : [path],
      access,
      scope,
    );
    return { args: path === undefined ? args : { ...args as object, path: paths[0] }, ...found };
  };
}

/** Finds the path of a search, or where its pattern begins. */
export function locatingPattern(parts: ToolParts): Locate {
  const locate = locating(parts, "read");
  return async (args, scope) => {
    const { path, pattern } = args as { path?: string; pattern: string };
    const root = path === undefined && isAbsolute(pattern)
      ? addedAt(normalize(pattern), scope.added)
      : undefined;
    return root === undefined ? await locate(args, scope) : { args, notes: [], root };
  };
}

const PATCH_PATH = /^(\*\*\* (?:(?:Add|Update|Delete) File|Move to): )([^\r\n]+)/gm;

/** Finds the paths in the text of a patch. */
export function locatingInPatch(parts: ToolParts): Locate {
  return async (args, scope) => {
    const { patch } = args as { patch: string };
    const given = [...patch.matchAll(PATCH_PATH)].map(([, , path]) => path);
    const { paths, ...found } = await located(parts, given, "write", scope);
    let n = 0;
    const named = patch.replace(PATCH_PATH, (_, header) => header + paths[n++]);
    return { args: { patch: named }, ...found };
  };
}

async function located(
  parts: ToolParts,
  given: readonly string[],
  access: Access,
  scope: LocateScope,
): Promise<Omit<LocatedArgs, "args"> & { paths: readonly string[] }> {
  const { paths, root, problem } = placed(given, access, { ...scope, home: parts.home });
  if (problem !== undefined) return { paths, notes: [], problem };
  const place = root === undefined ? scope : { ...scope, workdir: root.path, hidden: root.hidden };
  const found = await onDisk(parts, paths, place);
  if (root === undefined) return found;
  // The unit names what looks the same relative to the directory.
  const absolute = found.paths.map((path) => isAbsolute(path) ? path : join(root.path, path));
  return { ...found, paths: absolute, root };
}

/** Finds the added directory that paths lie in; in there, they are absolute. */
function placed(
  given: readonly string[],
  access: Access,
  { workdir, added, home }: LocateScope & { home: string | undefined },
): { paths: readonly string[]; root?: AddedRoot; problem?: string } {
  if (added.length === 0) return { paths: given };
  const places = given.map((path) => {
    const plain = home !== undefined && path.startsWith("~/") ? home + path.slice(1) : path;
    const absolute = isAbsolute(plain) ? normalize(plain) : normalize(join(workdir, plain));
    const inside = stripWorkdir(absolute, workdir) !== undefined;
    return { absolute, root: inside ? undefined : addedAt(absolute, added) };
  });
  const root = places.find((it) => it.root !== undefined)?.root;
  if (root === undefined) return { paths: given };
  if (places.some((it) => it.root !== root)) {
    const problem = `one patch changes files in one directory: ${root.path} was added to this ` +
      "session and needs a patch of its own";
    return { paths: given, problem };
  }
  if (access !== "read" && root.access === "read") {
    const problem =
      `${given[0]}: ${root.path} is read-only for this session; only the person can ` +
      "change that";
    return { paths: given, problem };
  }
  return { paths: places.map(({ absolute }) => absolute), root };
}

async function onDisk(
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
