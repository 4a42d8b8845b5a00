/**
 * Shared by all implementations of {@linkcode RootedFs}: errors, path parsing, and the rule for
 * hidden paths.
 */

import type { FileKind } from "../os/openat2.ts";
import { isWithin } from "../os/paths.ts";

export type RootedReason =
  | "invalid"
  | "outside"
  | "hidden"
  | "not_found"
  | "is_directory"
  | "not_directory"
  | "not_regular"
  | "too_large"
  | "denied"
  | "other";

/** An expected failure. Its message is one sentence that begins with the path as given. */
export class RootedError extends Error {
  /** The system's error code, if there is one. */
  readonly code: string;

  constructor(readonly reason: RootedReason, message: string, code: string = reason) {
    super(message);
    this.name = "RootedError";
    this.code = code;
  }
}

/** The error for a path that leads out of the working directory. */
/** Returns the error for a path that leads out of the working directory. */
export function outside(path: string, how?: string): RootedError {
  const detail = how === undefined ? "" : ` (${how})`;
  return new RootedError("outside", `${path}: leads outside the working directory${detail}`);
}

/** The error for a path that is hidden from the tools. */
/** Returns the error for a path that is hidden from the tools. */
export function hiddenError(path: string): RootedError {
  return new RootedError("hidden", `${path}: is not accessible to tools`);
}

/**
 * Refuses to let file tools write into `.git`, because the person's git runs what is in it.
 *
 * @param real where the file is, or will be
 * @throws {RootedError} denied
 */
export function requireNoGit(path: string, real: string, workdir: string): void {
  const inner = stripWorkdir(real, workdir) ?? "";
  if (!fold(inner).split("/").includes(".git")) return;
  throw new RootedError("denied", `${path}: file tools cannot write into .git; use git commands`);
}

/** The error for a path that keeps changing while it is resolved. */
/** Returns the error for a path that keeps changing while it is resolved. */
export function unsteady(path: string): RootedError {
  return new RootedError(
    "other",
    `${path}: keeps changing and cannot be opened safely; try again`,
  );
}

/** The error for an endless chain of symlinks. */
/** Returns the error for an endless chain of symlinks. */
export function linkLoop(path: string): RootedError {
  return new RootedError("invalid", `${path}: contains too many symlinks`);
}

/**
 * Joins a path to a directory as text; both use `/`, and `""` is the working directory.
 *
 * @returns the normalized result; `undefined` if it leaves the working directory
 */
export function joinRooted(directory: string, path: string): string | undefined {
  const parts = directory === "" ? [] : directory.split("/");
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join("/");
}

/** Splits a relative path into its directory (`""` for the working directory) and last name. */
export function splitLast(path: string): { directory: string; name: string } {
  const cut = path.lastIndexOf("/");
  return { directory: cut < 0 ? "" : path.slice(0, cut), name: path.slice(cut + 1) };
}

/** Returns the kind in Deno's metadata. */
export function kindOfInfo(
  info: Pick<Deno.FileInfo, "isFile" | "isDirectory" | "isSymlink">,
): FileKind {
  if (info.isFile) return "file";
  if (info.isDirectory) return "directory";
  return info.isSymlink ? "symlink" : "other";
}

/** Like {@linkcode splitLast}. @throws {RootedError} is_directory for the working directory */
export function splitFile(path: string, relative: string): { directory: string; name: string } {
  const parts = splitLast(relative);
  if (parts.name === "") throw new RootedError("is_directory", `${path}: is a directory`);
  return parts;
}

/**
 * Converts a model's path, relative or absolute, to one relative to the working directory, as text.
 *
 * @param workdir a real path
 * @returns a normalized path with `/` between its parts; `""` is the working directory
 * @throws {RootedError} `invalid` or `outside`
 */
export function relativePath(path: string, workdir: string, windows = WINDOWS): string {
  const shown = path.replaceAll("\0", "\\0");
  if (path === "") throw new RootedError("invalid", "the path is empty");
  if (path.includes("\0")) {
    throw new RootedError("invalid", `${shown}: a path must not contain a NUL byte`);
  }
  const slashed = windows ? path.replaceAll("\\", "/") : path;
  const absolute = slashed.startsWith("/") || (windows && /^[A-Za-z]:/.test(slashed));
  const inner = absolute ? stripWorkdir(slashed, workdir, windows) : slashed;
  // A ":" after the drive would name an alternate data stream.
  if (windows && inner?.includes(":")) {
    throw new RootedError("invalid", `${path}: a path must not contain ":"`);
  }
  const relative = inner === undefined ? undefined : joinRooted("", inner);
  if (relative === undefined) throw outside(shown);
  return relative;
}

/**
 * Returns the part of an absolute path below the working directory: `""` for the directory itself,
 * `undefined` for a path elsewhere.
 */
export function stripWorkdir(
  path: string,
  workdir: string,
  windows = WINDOWS,
): string | undefined {
  const slashed = (text: string) => windows ? text.replaceAll("\\", "/") : text;
  const root = slashed(workdir).replace(/\/+$/, "");
  const normal = joinRooted("", slashed(path));
  if (normal === undefined) return undefined;
  const full = `/${normal}`;
  // Windows paths begin with a drive, so both sides get a leading slash.
  const base = windows && !root.startsWith("/") ? `/${root}` : root;
  const same = windows ? full.toLowerCase() : full;
  const prefix = windows ? base.toLowerCase() : base;
  if (same === prefix || (prefix === "" && same === "/")) return "";
  return same.startsWith(`${prefix}/`) ? full.slice(base.length + 1) : undefined;
}

export type HiddenRule = (realPath: string) => boolean;

/**
 * Returns the rule for hidden paths: an entry, and everything in it. If the directory's own `.svc`
 * is hidden, so is every `.svc` below, because a session may start there at any time.
 *
 * Ignores the working directory and those above it, where another session may be: paths outside are
 * unreachable anyway.
 */
export function hiddenRule(hidden: readonly string[], workdir: string): HiddenRule {
  const inside = hidden
    .map(fold)
    .filter((entry) => isWithin(entry, fold(workdir)) && entry !== fold(workdir));
  if (inside.length === 0) return () => false;
  const root = fold(workdir).replace(/\/+$/, "");
  const own = inside.includes(`${root}/.svc`);
  return (realPath) => {
    const path = fold(realPath);
    if (own && `${path.slice(root.length)}/`.includes("/.svc/")) return true;
    return inside.some((entry) => isWithin(path, entry));
  };
}

const WINDOWS = Deno.build.os === "windows";

/** On systems with case-insensitive file names, `.SVC` is `.svc`. */
function fold(path: string): string {
  if (Deno.build.os === "linux") return path;
  return (WINDOWS ? path.replaceAll("\\", "/") : path).toLowerCase();
}
