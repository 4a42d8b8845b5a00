import { dirname, isAbsolute, join } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { checkPrivate } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";

/**
 * Checks a session's directory (contract.md section 5): an absolute path to a writable directory
 * outside of svc's home and of what svc keeps in other directories. Returns its real path.
 *
 * @throws {SvcError} validation, with the rule it breaks
 */
export async function checkWorkdir(workdir: string, home: string): Promise<string> {
  const refuse = (rule: string, hint?: string) =>
    new SvcError("validation", `workdir ${JSON.stringify(workdir)} ${rule}`, {
      hint,
      details: { issues: [{ path: ["workdir"], message: hint ? `${rule}: ${hint}` : rule }] },
    });
  if (workdir.includes("\0")) throw refuse("contains a NUL byte");
  if (!isAbsolute(workdir)) throw refuse("is not absolute", "give the full path");
  let real: string;
  try {
    real = await Deno.realPath(workdir);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw refuse("does not exist", "create it first");
    throw refuse(`cannot be opened: ${messageOf(error)}`);
  }
  if (!(await Deno.stat(real)).isDirectory) throw refuse("is not a directory");
  if (isWithin(real, home)) throw refuse(`is inside the home of svc, ${home}`);
  if (isOwn(real)) {
    throw refuse("cannot be used: svc keeps files of sessions there", "choose a project");
  }
  const probe = join(real, `.svc-probe-${crypto.randomUUID()}`);
  try {
    (await Deno.open(probe, { write: true, createNew: true })).close();
    await Deno.remove(probe);
  } catch (error) {
    // Deno (2.7.11) opens files below /dev, /proc or /sys for writing only with every permission.
    if (error instanceof Deno.errors.NotCapable) {
      throw refuse(
        "is not writable for svc, which may write no file below /dev, /proc and /sys",
        "choose a directory elsewhere; for one in memory mount a tmpfs or bind it there, " +
          "for example `mount --bind /dev/shm/project ~/project`",
      );
    }
    throw refuse(`is not writable: ${messageOf(error)}`);
  }
  return real;
}

/** Whether a path is in a `.svc`, but not in one of the worktrees there. */
function isOwn(path: string): boolean {
  const parts = path.split(/[\\/]/);
  return parts.some((part, n) =>
    part.toLowerCase() === ".svc" && (parts[n + 1] !== "worktrees" || n + 2 >= parts.length)
  );
}

/** Asserts that a journal and its directories are private. @throws {SvcError} permission_denied */
export function checkJournalPrivate(journal_path: string): void {
  const dir = dirname(journal_path);
  const sessions = dirname(dir);
  for (const path of [dirname(sessions), sessions, dir]) checkPrivate(path, 0o700, "dir");
  checkPrivate(journal_path, 0o600, "file");
}

/** Makes the directory of a session's journal; see {@linkcode makeOwnDir}. */
export function makeSessionDir(workdir: string, session_id: string): string {
  return makeOwnDir(workdir, ["sessions", session_id]);
}

/** The content of the `.gitignore` in a `.svc`. */
export const OWN_IGNORE = "*\n";

/**
 * Makes a directory in a workdir's `.svc`, mode 0700 all the way, ignored by version control.
 *
 * @param names the directories below `.svc`, outermost first
 * @throws {SvcError} validation when one of them is not a private directory: a cloned project could
 * bring a link there
 */
export function makeOwnDir(workdir: string, names: readonly string[]): string {
  const own = join(workdir, ".svc");
  let path = own;
  makePrivateDir(own, workdir);
  for (const name of names) makePrivateDir(path = join(path, name), workdir);
  try {
    Deno.writeTextFileSync(join(own, ".gitignore"), OWN_IGNORE, { createNew: true, mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  return path;
}

function makePrivateDir(path: string, workdir: string): void {
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    try {
      checkPrivate(path, 0o700, "dir");
    } catch (cause) {
      const { message, hint } = cause as SvcError;
      throw new SvcError("validation", `svc cannot store its files in ${workdir}: ${message}`, {
        hint,
        cause,
      });
    }
  }
}
