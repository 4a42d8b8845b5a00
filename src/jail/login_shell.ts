/** Asks a person's login shell for its PATH, as a terminal would get it. */
import { basename } from "@std/path";
import { messageOf } from "../protocol/errors.ts";
import { isOwn, ownDirs } from "../os/own_programs.ts";
import { pathDirs } from "../os/which.ts";
import { runProcess } from "./process.ts";

/** As long as a slow start of a shell takes. */
const TIMEOUT_MS = 5_000;
/** More is not the output of start-up files. */
const OUTPUT_MAX = 1_000_000;
/** More directories would only be noise. */
const ADDED_MAX = 100;

/** Many start-up files return at once for a shell that is not interactive, as Debian's .bashrc. */
const INTERACTIVE = new Set(["bash", "zsh", "fish"]);
/** They take `-l` only as the single argument. */
const C_SHELLS = new Set(["csh", "tcsh"]);

/** Returns the arguments with which a shell reads its start-up files and then runs a line. */
export function shellArguments(shell: string, line: string): string[] {
  const name = basename(shell);
  if (INTERACTIVE.has(name)) return ["-l", "-i", "-c", line];
  if (C_SHELLS.has(name)) return ["-i", "-c", line];
  return ["-l", "-c", line];
}

/**
 * Returns a line that prints the PATH between marks. All shells read it in the same way; fish has a
 * PATH of its own form, so `sh` prints it.
 *
 * @param mark without characters that a shell or printf reads
 */
export function printingPath(mark: string): string {
  return `/bin/sh -c 'printf "\\n%s%s%s\\n" ${mark} "$PATH" ${mark}'`;
}

/** Returns what stands between the last two marks; undefined if it does not stand there. */
export function betweenMarks(output: string, mark: string): string | undefined {
  const end = output.lastIndexOf(mark);
  const begin = end < 1 ? -1 : output.lastIndexOf(mark, end - 1);
  return begin < 0 ? undefined : output.slice(begin + mark.length, end);
}

/** What a login shell adds to a PATH. */
export interface AddedDirectories {
  added: string[];
  /** Other users can write there. */
  left_out: string[];
}

/** Returns the existing directories of `found` that `path` lacks, in their order. */
export function directoriesToAdd(path: string | undefined, found: string): AddedDirectories {
  const known = new Set(pathDirs(path).map(withoutSlash));
  const missing = [...new Set(pathDirs(found).map(withoutSlash))]
    .filter((dir) => !known.has(dir) && !UNUSUAL.test(dir) && isDirectory(dir))
    .slice(0, ADDED_MAX);
  const own = new Set(ownDirs(missing.join(":")));
  return {
    added: missing.filter((dir) => own.has(dir)),
    left_out: missing.filter((dir) => !own.has(dir)),
  };
}

// deno-lint-ignore no-control-regex -- no directory of programs has such a name
const UNUSUAL = /[\x00-\x1f\x7f]/;

const withoutSlash = (dir: string) => dir.replace(/(?<=.)\/+$/, "");

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/**
 * Runs a login shell and returns its PATH. Nothing that the shell starts outlives the call, unless
 * it is a daemon that left in time.
 *
 * @param environment all variables of the shell
 * @throws {Error} when there is no answer; the message is a clause without a subject
 */
export async function askLoginShell(
  shell: string,
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  if (!isOwn(shell)) throw new Error("is not a program that only you and root can change");
  const mark = `svc-path-${crypto.randomUUID()}`;
  const decoder = new TextDecoder();
  const flood = new AbortController();
  let output = "";
  let bytes = 0;
  try {
    const { exit_code, timed_out } = await runProcess({
      argv: { cmd: shell, args: shellArguments(shell, printingPath(mark)), env: environment },
      cwd: "/",
      sandbox: "none",
      timeout_ms: TIMEOUT_MS,
      term_grace_ms: 0,
      signal: AbortSignal.any([signal, flood.signal]),
      onStdout(chunk) {
        bytes += chunk.length;
        if (bytes > OUTPUT_MAX) flood.abort(new Error(`printed more than ${OUTPUT_MAX} bytes`));
        else output += decoder.decode(chunk, { stream: true });
      },
    });
    // A shell may go on when what it waited for is ended; the rest of its files counts for little.
    if (timed_out) throw new Error(`did not answer in ${TIMEOUT_MS / 1000} s`);
    const path = betweenMarks(output, mark);
    if (path !== undefined) return path;
    throw new Error(`ended with exit code ${exit_code} before it printed its PATH`);
  } catch (error) {
    throw new Error(messageOf(error), { cause: error });
  }
}
