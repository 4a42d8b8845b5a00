/**
 * What another user of this machine can enter and run. A checkout, its Deno and the directory of
 * temporary files may lie in a home that is closed to them.
 */
import { basename, dirname, fromFileUrl, join } from "@std/path";

/** In the environment, which the workers of one `deno test` share: how many hold the copies, and where. */
const COPIES = "SVC_TEST_COPIES";
/** Files that may be read by all, and directories that may be entered by all. */
const READ = 0o004;
const ENTER = 0o001;

/**
 * A directory of temporary files that every user can enter.
 *
 * @throws {Error} where there is none.
 */
export function everyonesTemp(): string {
  const own = Deno.env.get("TMPDIR") || "/tmp";
  const found = [own, "/tmp", "/var/tmp"].find((path) => canEnter(path));
  if (found === undefined) {
    throw new Error(`other users cannot enter ${own}, /tmp or /var/tmp; set TMPDIR`);
  }
  return Deno.realPathSync(found);
}

/** Makes a directory that every user can enter; the caller removes it. */
export function everyonesDirectory(prefix: string): string {
  const path = Deno.makeTempDirSync({ dir: everyonesTemp(), prefix });
  Deno.chmodSync(path, 0o755);
  return path;
}

/**
 * A program, or a directory of what it is made of, where every user can run it: itself, or a copy
 * that all files of a test run share, and the last of them removes.
 *
 * @param without names in the directory that are left out.
 */
export function forEveryone(path: string, without: readonly string[] = []): string {
  const real = Deno.realPathSync(path);
  if (canUse(real) && canEnter(dirname(path))) return path;
  return locked(() => {
    const { dev, ino, mtime } = Deno.statSync(real);
    const at = join(hold(), `${dev}-${ino}-${mtime?.getTime()}`, basename(real));
    if (exists(at)) return at;
    // One that was not copied to its end is not taken for the whole.
    const begun = join(dirname(dirname(at)), crypto.randomUUID());
    Deno.mkdirSync(begun);
    Deno.chmodSync(begun, 0o755);
    copy(real, join(begun, basename(real)), without);
    Deno.renameSync(begun, dirname(at));
    return at;
  });
}

/** Deno's own databases, which change and vanish while others read them; it makes them anew. */
const DATABASE = /_cache_v\d+(-shm|-wal|-journal)?$/;

let held: string | undefined;

/** The directory of copies, which is there until the last test file that asked for it ends. */
function hold(): string {
  if (held !== undefined) return held;
  const [count = "0", ...path] = Deno.env.get(COPIES)?.split(" ") ?? [];
  held = path.length > 0 ? path.join(" ") : everyonesDirectory("svc-test-copies-");
  Deno.env.set(COPIES, `${Number(count) + 1} ${held}`);
  globalThis.addEventListener("unload", () => locked(letGo));
  return held;
}

function letGo(): void {
  const [count, ...path] = Deno.env.get(COPIES)!.split(" ");
  if (count === "1") {
    Deno.removeSync(held!, { recursive: true });
    Deno.env.delete(COPIES);
  } else Deno.env.set(COPIES, `${Number(count) - 1} ${path.join(" ")}`);
}

/** Does something while no other file of the run does it. */
function locked<T>(work: () => T): T {
  using file = Deno.openSync(fromFileUrl(import.meta.url));
  file.lockSync(true);
  return work();
}

/** Links a file where all may use it, or copies it; a directory with all that is in it. */
function copy(from: string, to: string, without: readonly string[] = []): void {
  const { isDirectory, isSymlink, isFile, mode } = Deno.lstatSync(from);
  if (isSymlink) Deno.symlinkSync(Deno.readLinkSync(from), to);
  else if (isDirectory) {
    Deno.mkdirSync(to);
    Deno.chmodSync(to, 0o755);
    for (const { name } of Deno.readDirSync(from)) {
      if (without.includes(name) || DATABASE.test(name)) continue;
      copy(join(from, name), join(to, name));
    }
  } else if (isFile) copyFile(from, to, mode!);
}

function copyFile(from: string, to: string, mode: number): void {
  const runs = (mode & 0o111) !== 0;
  if ((mode & READ) !== 0 && (!runs || (mode & ENTER) !== 0)) {
    try {
      return Deno.linkSync(from, to);
    } catch {
      // It lies on another disk.
    }
  }
  Deno.copyFileSync(from, to);
  Deno.chmodSync(to, runs ? 0o755 : 0o644);
}

/** Whether every user can use a file, or a directory with what lies right in it. */
function canUse(path: string): boolean {
  const { isDirectory, mode } = Deno.statSync(path);
  if (!canEnter(dirname(path)) || (mode! & READ) === 0) return false;
  if (!isDirectory) return (mode! & 0o111) === 0 || (mode! & ENTER) !== 0;
  return (mode! & ENTER) !== 0 &&
    [...Deno.readDirSync(path)].every(({ name, isSymlink }) =>
      isSymlink || (Deno.statSync(join(path, name)).mode! & READ) !== 0
    );
}

/** Whether every user can enter a directory. */
function canEnter(path: string): boolean {
  try {
    const real = Deno.realPathSync(path);
    if ((Deno.statSync(real).mode! & ENTER) === 0) return false;
    return real === "/" || canEnter(dirname(real));
  } catch {
    return false;
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
