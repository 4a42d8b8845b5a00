/** The branch of a directory, as its HEAD says it: no git is started, and no setting is read. */
import { cleanLine } from "../features/tui/text.ts";
import { dirname, isAbsolute, join } from "@std/path";

/** A longer file is no HEAD and no pointer to one. */
const FILE_MAX = 1_024;

/** Looks for the branch where a session begins to work, and again after each turn. */
export class BranchWatch {
  readonly #onFound: (branch: string | undefined) => void;
  #seen = "";
  #branch: string | undefined;

  constructor(onFound: (branch: string | undefined) => void) {
    this.#onFound = onFound;
  }

  /** Reports the session's directory, and whether a turn runs. */
  seen(workdir: string, turn: boolean): void {
    const now = `${turn}:${workdir}`;
    if (now === this.#seen || workdir === "") return;
    this.#seen = now;
    if (!turn) void this.#look(workdir);
  }

  async #look(workdir: string): Promise<void> {
    const found = await branchOf(workdir);
    if (found === this.#branch) return;
    this.#branch = found;
    this.#onFound(found && cleanLine(found));
  }
}

/** Returns the branch that is checked out; undefined outside of branches and repositories. */
export async function branchOf(workdir: string): Promise<string | undefined> {
  for (let dir = workdir;; dir = dirname(dir)) {
    const found = await headOf(join(dir, ".git"));
    if (found !== undefined) return /^ref: refs\/heads\/(\S.*)$/m.exec(found)?.[1];
    if (dirname(dir) === dir) return undefined;
  }
}

/** The HEAD of a repository; of a worktree, `.git` is a file that says where it is. */
async function headOf(git: string): Promise<string | undefined> {
  const [, other] = /^gitdir: (.+)$/m.exec(await smallFile(git) ?? "") ?? [];
  const dir = other === undefined ? git : isAbsolute(other) ? other : join(dirname(git), other);
  return await smallFile(join(dir, "HEAD"));
}

/** The text of a small file; undefined for anything else, which could wait forever. */
async function smallFile(path: string): Promise<string | undefined> {
  try {
    const { isFile, size } = await Deno.lstat(path);
    return isFile && size <= FILE_MAX ? await Deno.readTextFile(path) : undefined;
  } catch {
    return undefined;
  }
}
