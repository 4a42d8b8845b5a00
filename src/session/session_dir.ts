/** Removes sessions' directories. Loaded only for a deletion. */
import { basename, dirname, join } from "@std/path";
import { delay } from "@std/async";
import { SvcError } from "../protocol/errors.ts";
import { checkPrivate, syncDir } from "../os/files.ts";
import { OWN_IGNORE } from "./workdir.ts";
import { removeTree } from "../os/remove_tree.ts";

/** Asserts that svc made a directory, with no links. @throws {SvcError} permission_denied */
export function checkSessionDir(journal_path: string, id: string): void {
  const dir = dirname(journal_path);
  const sessions = dirname(dir);
  const own = dirname(sessions);
  const named = basename(journal_path) === "journal.ndjson" && basename(dir) === id &&
    basename(sessions) === "sessions" && basename(own) === ".svc";
  if (!named) {
    throw new SvcError("permission_denied", `${journal_path} is not where svc keeps journals`);
  }
  for (const path of [own, sessions, dir]) checkPrivate(path, 0o700, "dir");
}

/** Removes a session's directory with all its content. */
export async function removeSessionDir(journal_path: string, id: string): Promise<void> {
  checkSessionDir(journal_path, id);
  const dir = dirname(journal_path);
  // A git process that was cut off may still write into it.
  for (let tries = 0;; tries++) {
    try {
      await removeTree(dir);
      break;
    } catch (error) {
      if (tries === 3) throw error;
      await delay(100);
    }
  }
  try {
    syncDir(dirname(dir));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Removes the `.svc` around the directory of a session that is gone, if svc keeps nothing there. */
export function removeIfUnused(journal_path: string): void {
  const sessions = dirname(dirname(journal_path));
  const own = dirname(sessions);
  const ignore = join(own, ".gitignore");
  try {
    Deno.removeSync(sessions);
    const left = [...Deno.readDirSync(own)];
    if (left.length !== 1 || left[0].name !== ".gitignore" || !left[0].isFile) return;
    if (Deno.readTextFileSync(ignore) !== OWN_IGNORE) return;
    Deno.removeSync(ignore);
    Deno.removeSync(own);
  } catch {
    // Other sessions are there, or somebody removes it too.
  }
}
