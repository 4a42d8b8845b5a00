/** Finds the programs that svc starts outside of any sandbox. */
import { dirname, isAbsolute, join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { realPathIfAny } from "./files.ts";
import { isWithin } from "./paths.ts";
import { firstFile, pathDirs } from "./which.ts";

/**
 * Finds a program on a PATH, where neither another user nor a session can write. Absolute paths are
 * the caller's choice and stay, as do names on Windows, where the system looks them up.
 *
 * @param writable real paths that sessions can write
 */
export function ownProgram(
  program: string,
  path: string | undefined,
  writable: readonly string[] = [],
): string | undefined {
  if (isAbsolute(program) || Deno.build.os === "windows") return program;
  const places = new Set(writable);
  return pathDirs(path).map((dir) => join(dir, program)).find((file) => isOwn(file, places));
}

/** A program, and the PATH for programs that it starts itself. */
export interface FoundProgram {
  cmd: string;
  path: string;
}

/** Like {@linkcode ownProgram}, with a PATH of equally safe directories. */
export function findOwn(
  program: string,
  path: string | undefined,
  writable: readonly string[],
): FoundProgram | undefined {
  const cmd = ownProgram(program, path, writable);
  if (cmd === undefined) return undefined;
  const windows = Deno.build.os === "windows";
  return { cmd, path: windows ? path ?? "" : ownDirs(path, writable).join(":") };
}

/**
 * Returns what finds the programs that the person names in svc's settings: tool servers, deploys.
 *
 * A session in the home directory would exclude all programs in it. So they count as the person's:
 * commands see them read-only, file tools ask.
 *
 * @param path existing directories, asked each time
 * @param writable real paths that sessions can write, asked each time
 */
export function personsPrograms(
  env: (name: string) => string | undefined,
  path: () => string,
  writable: () => readonly string[],
): (program: string) => FoundProgram | undefined {
  const home = realPathIfAny(env("HOME") ?? "/") ?? "/";
  return (program) => findOwn(program, path(), writable().filter((dir) => !isWithin(home, dir)));
}

/** Says why {@linkcode ownProgram} finds no program, as a clause without a subject. */
export function absence(
  program: string,
  path: string | undefined,
  writable: readonly string[] = [],
): string {
  const file = firstFile(pathDirs(path).map((dir) => join(dir, program)));
  if (file === undefined) return "is not installed";
  const real = realPathIfAny(file) ?? file;
  const session = writable.find((each) => isWithin(file, each) || isWithin(real, each));
  return session === undefined
    ? `is in ${dirname(file)}, where other users can replace it`
    : `is in ${dirname(file)}, which a session in ${session} can write to`;
}

/** Returns the error for a missing program that the person named. */
export function unfound(program: string): SvcError {
  return new SvcError(
    "not_found",
    `${program} is not on the daemon's PATH where svc can trust it`,
    {
      hint:
        "install it where neither other users nor sessions can write, or give its absolute path",
    },
  );
}

/** Returns the directories of a PATH that neither another user nor a session can write. */
export function ownDirs(path: string | undefined, writable: readonly string[] = []): string[] {
  const places = new Set(writable);
  return pathDirs(path).filter((dir) => {
    const real = realPathIfAny(dir);
    return real !== undefined && isKept(dir, real, places);
  });
}

/** Reports whether a program exists that only this user and root can replace. */
export function isOwn(file: string, writable: Iterable<string> = []): boolean {
  const places = writable instanceof Set ? writable : new Set(writable);
  const real = realPathIfAny(file);
  if (real === undefined || firstFile([real]) === undefined) return false;
  const dir = realPathIfAny(dirname(file));
  return dir !== undefined && isKept(dirname(file), dir, places) && isKept(file, real, places);
}

/** Checks the name, where a link may be replaced, and the target. */
function isKept(path: string, real: string, writable: ReadonlySet<string>): boolean {
  const all = [...new Set([...upFrom(path), ...upFrom(real)])];
  // `writable` may have thousands of entries.
  if (all.some((each) => writable.has(each))) return false;
  return all.every((each) => isKeptByOwner(Deno.statSync(each)));
}

function* upFrom(path: string): Generator<string> {
  for (let at = path;; at = dirname(at)) {
    yield at;
    if (at === dirname(at)) return;
  }
}

const EVERYONE_WRITES = 0o002;
const STICKY = 0o1000;

function isKeptByOwner({ uid, mode, isDirectory }: Deno.FileInfo): boolean {
  if (Deno.build.os === "windows") return true;
  if (uid !== 0 && uid !== Deno.uid() && !isUnmapped(uid)) return false;
  const found = mode ?? 0;
  return (found & EVERYONE_WRITES) === 0 || (isDirectory && (found & STICKY) !== 0);
}

const OVERFLOW_UID = 65_534;

/** In a user namespace: an owner outside of it, whom nobody inside can become. */
function isUnmapped(uid: number | null): boolean {
  if (uid !== OVERFLOW_UID || Deno.build.os !== "linux") return false;
  return !/^\s*0\s+0\s+4294967295\s*$/.test(Deno.readTextFileSync("/proc/self/uid_map"));
}
