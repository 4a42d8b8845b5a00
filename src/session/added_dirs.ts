/** Checks the directories that a person adds to a session, and the paths that a command asks for. */
import { dirname, isAbsolute, join, normalize } from "@std/path";
import { realPathOrSame } from "../os/files.ts";
import type { AddDirectory, AddedDirectory } from "../protocol/added_directory.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { holdsSystem, isWithin } from "../os/paths.ts";

/** Each is a mount of every command. */
const ADDED_MAX = 20;

/** What is made for each command, or belongs to the kernel. */
const KERNEL = ["/dev", "/proc", "/sys"];

export interface AddPlaces {
  workdir: string;
  /** The home of svc. */
  home: string;
  /** The person's own home, a real path. */
  person_home: string | undefined;
}

/**
 * Adds directories to those that a session has; one that it has gets the new access.
 *
 * @returns all of them, with absolute real paths
 * @throws {SvcError} validation, with the rule that a directory breaks
 */
export async function withAdded(
  now: readonly AddedDirectory[],
  more: readonly AddDirectory[],
  places: AddPlaces,
): Promise<AddedDirectory[]> {
  const all = new Map(now.map((it) => [it.path, it]));
  for (const { path: given, access = "write" } of more) {
    const path = await realDirectory(given, access, places);
    for (const { path: other } of all.values()) {
      if (other === path || !isWithin(path, other) && !isWithin(other, path)) continue;
      throw refusal(given, `is in or around ${other}, which is added already`, {
        hint: "remove that one first; everything in a directory has the same access",
      });
    }
    all.set(path, { path, access });
  }
  if (all.size > ADDED_MAX) {
    throw new SvcError("validation", `a session can have at most ${ADDED_MAX} added directories`);
  }
  return [...all.values()];
}

/**
 * Checks the files and directories that one command asks for. Whether they exist is only said once
 * the person has allowed them, so that a model cannot find out which files there are.
 *
 * @param now the directories that its session has
 * @returns what the command cannot use without asking, with absolute real paths
 * @throws {SvcError} validation, with the rule that a path breaks
 */
export async function askedPaths(
  asked: readonly AddedDirectory[],
  now: readonly AddedDirectory[],
  places: AddPlaces,
): Promise<AddedDirectory[]> {
  const all = new Map<string, AddedDirectory>();
  for (const { path: given, access } of asked) {
    const absolute = normalize(absoluteFrom(given, places));
    const path = await realPathOrSame(absolute);
    if (isWithin(path, places.workdir)) continue;
    const problem = problemOf(path, access, places);
    if (problem !== undefined) {
      throw new SvcError("validation", `cannot ask for ${JSON.stringify(given)}: it ${problem}`);
    }
    const has = [...now, ...all.values()].some((it) =>
      isWithin(path, it.path) && (access === "read" || it.access === "write")
    );
    if (!has) all.set(path, { path, access });
  }
  return [...all.values()];
}

/**
 * Removes directories from those that a session has.
 *
 * @param paths as they were added, or as the session shows them
 * @throws {SvcError} not_found for one that it does not have
 */
export async function withoutAdded(
  now: readonly AddedDirectory[],
  paths: readonly string[],
  places: AddPlaces,
): Promise<AddedDirectory[]> {
  let left = [...now];
  for (const given of paths) {
    const path = absoluteFrom(given, places);
    const real = await realPathOrSame(path);
    const kept = left.filter((it) => it.path !== path && it.path !== real);
    if (kept.length === left.length) {
      const known = now.map(({ path }) => path).join(", ") || "none";
      throw new SvcError("not_found", `${given} is not an added directory; added: ${known}`);
    }
    left = kept;
  }
  return left;
}

async function realDirectory(
  given: string,
  access: AddedDirectory["access"],
  places: AddPlaces,
): Promise<string> {
  if (given.includes("\0")) throw refusal(given, "contains a NUL byte");
  const asked = absoluteFrom(given, places);
  let path: string;
  try {
    path = await Deno.realPath(asked);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw refusal(given, "does not exist", { hint: "create it first" });
    }
    throw refusal(given, `cannot be opened: ${messageOf(error)}`);
  }
  if (!(await Deno.stat(path)).isDirectory) {
    throw refusal(given, "is not a directory", { hint: `add ${dirname(path)} instead` });
  }
  const problem = problemOf(path, access, places);
  if (problem !== undefined) {
    throw refusal(path === asked ? given : `${given} (${path})`, problem);
  }
  return path;
}

/** Which rule a real directory breaks, as a predicate. */
function problemOf(
  path: string,
  access: AddedDirectory["access"],
  { workdir, home, person_home }: AddPlaces,
): string | undefined {
  if (dirname(path) === path) return "is the root of the file system; name a directory in it";
  if (KERNEL.some((each) => isWithin(path, each))) {
    return "belongs to the kernel; name a directory of files";
  }
  if (isWithin(path, home)) return `is inside the home of svc, ${home}`;
  if (person_home !== undefined && isWithin(person_home, path)) {
    return `holds your home directory, ${person_home}; name a directory in it`;
  }
  if (isWithin(home, path)) return `holds the home of svc, ${home}; name a directory in it`;
  if (path === workdir) return "is the session's working directory";
  if (isWithin(path, workdir)) return `is in the working directory ${workdir}, which tools can use`;
  if (isWithin(workdir, path)) {
    return `holds the working directory ${workdir}; start a session there instead`;
  }
  const names = path.split(/[\\/]/).map((name) => name.toLowerCase());
  const own = names.find((name) => name === ".git" || name === ".svc");
  if (own === ".git") return "is inside a .git directory, where only git writes";
  if (own !== undefined) return "is inside a .svc directory, where svc keeps sessions";
  if (access === "write" && holdsSystem(path)) {
    return "holds the system's programs; add it read-only";
  }
}

function absoluteFrom(path: string, { workdir, person_home }: AddPlaces): string {
  if (/^~(?=[\\/]|$)/.test(path) && person_home !== undefined) return person_home + path.slice(1);
  return isAbsolute(path) ? path : join(workdir, path);
}

function refusal(path: string, rule: string, { hint }: { hint?: string } = {}): SvcError {
  return new SvcError("validation", `cannot add ${JSON.stringify(path)}: it ${rule}`, {
    hint,
    details: { issues: [{ path: ["add_dirs"], message: hint ? `${rule}: ${hint}` : rule }] },
  });
}
