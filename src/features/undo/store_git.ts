/**
 * Runs git on a store of file states. Git ignores the repository in the working directory: its
 * configuration, index, refs, hooks and attributes. The sandbox shows it the store and, read-only,
 * the working directory; without a sandbox it runs with the same configuration.
 */
import { join } from "@std/path";
import { runProcess } from "../../jail/process.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { EXCHANGED } from "../../jail/sandbox_alone.ts";
import { exists } from "../../os/files.ts";
import { identityOf } from "../../os/identity.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { BORROWED } from "./store_files.ts";

const MAKE_STATE =
  `printf '040000 tree %s\\tfiles\\n100644 blob %s\\tmodes\\n' "$tree" "$modes" | git mktree`;

/**
 * New files, an empty name, then files that may have changed. A directory with only new files, or
 * none, is there by its name and a slash.
 */
export const SCAN = `git diff-files --name-only -z --ignore-submodules=all >"$GIT_DIR/svc-changed" &
git ls-files --others --exclude-standard --directory -z || exit 91
printf '\\0'
wait $! || exit 92
cat "$GIT_DIR/svc-changed"`;

/**
 * New files in directories; an empty name; which of the wanted names are ignored. That stops at a
 * name that was changed meanwhile, as the next scan sees.
 */
export const SCAN_IN = `if [ $# -gt 0 ]; then
  git ls-files --others --exclude-standard -z -- "$@" || exit 91
fi
printf '\\0'
[ -s "$GIT_DIR/svc-wanted" ] || exit 0
GIT_LITERAL_PATHSPECS=0 git check-ignore --no-index -z --stdin <"$GIT_DIR/svc-wanted" || true`;

/** Ignored files and directories, those that have only such too. */
export const IGNORED = "git ls-files --others --ignored --exclude-standard --directory -z";

/** Which of the names in a file have a pattern of their own, or one above them has. */
export const MATCHED =
  `GIT_LITERAL_PATHSPECS=0 git check-ignore --no-index -z --stdin <"$GIT_DIR/svc-ignored"
[ $? -le 1 ]`;

/** Prints the name of a state made of another one and changed entries, with an index of its own. */
export const COMBINE = `GIT_INDEX_FILE="$GIT_DIR/svc-combined"
export GIT_INDEX_FILE
rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.lock"
git read-tree "$1:files" || exit 94
git update-index -z --index-info <"$GIT_DIR/svc-wanted" || exit 94
tree=$(git write-tree) || exit 95
rm -f "$GIT_INDEX_FILE"
modes=$(git hash-object -w --no-filters --stdin <"$GIT_DIR/svc-combined-modes") || exit 96
${MAKE_STATE}`;

/** Updates the index and prints the name of the state. */
export const RECORD = `for part in removed added; do
  [ -s "$GIT_DIR/svc-$part" ] || continue
  if [ $part = removed ]; then set -- --force-remove; else set -- --add --remove --replace; fi
  git $SVC_PACK update-index -z "$@" --stdin <"$GIT_DIR/svc-$part" || exit 94
done
tree=$(git write-tree) || exit 95
modes=$(git hash-object -w --no-filters --stdin <"$GIT_DIR/svc-modes") || exit 96
${MAKE_STATE}`;

export interface StorePlace {
  /** An absolute real path. */
  dir: string;
  /** An absolute real path. */
  workdir: string;
  sandbox: Sandbox;
  /** Whether the stores of other sessions in the workdir are beside it. */
  has_siblings: boolean;
}

/** A shell script in which `git` uses the store. */
interface StoreRun {
  script: string;
  /** `$1` and so on. */
  args?: readonly string[];
  /** Whether it runs in the working directory; otherwise it does not see that. */
  sees_files?: boolean;
  signal: AbortSignal;
  timeout_ms: number;
  /** The chunk is only valid during the call. */
  onStdout(chunk: Uint8Array): void;
}

/** Disables the configuration of the person, the system and the repository. */
const ENVIRONMENT = {
  LANG: "C",
  LC_ALL: "C",
  HOME: "/nonexistent",
  XDG_CONFIG_HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_EDITOR: "false",
  GIT_PAGER: "cat",
  GIT_PROGRESS_DELAY: "86400",
};

/** Files are stored byte for byte. */
const CONFIG = `[core]
	repositoryFormatVersion = 0
	bare = true
	fileMode = true
	symlinks = true
	ignoreCase = false
	precomposeUnicode = false
	protectHFS = false
	protectNTFS = false
	autocrlf = false
	safecrlf = false
	hooksPath = /dev/null
	fsmonitor = false
	untrackedCache = false
	excludesFile = /dev/null
	attributesFile = /dev/null
	logAllRefUpdates = false
	compression = 1
	fsync = none
	fsyncObjectFiles = false
[gc]
	auto = 0
[maintenance]
	auto = false
[diff]
	ignoreSubmodules = all
	noprefix = false
	mnemonicPrefix = false
[index]
	threads = true
`;

/** Takes precedence over every .gitattributes in the working directory. */
const ATTRIBUTES = "* -text -crlf !eol -ident -filter -working-tree-encoding !diff !merge\n";

/** The end of stderr that errors show. */
const STDERR_CHARS = 2_000;

/** Creates an empty store. */
export function makeStore(dir: string, excluded: readonly string[]): void {
  // Without the parents: the session's directory may have been renamed.
  if (!exists(dir)) Deno.mkdirSync(dir, { mode: 0o700 });
  for (const name of ["objects/pack", "objects/info", "refs/heads", "info"]) {
    Deno.mkdirSync(join(dir, name), { recursive: true, mode: 0o700 });
  }
  const write = (name: string, text: string) =>
    Deno.writeTextFileSync(join(dir, name), text, { mode: 0o600 });
  write("HEAD", "ref: refs/heads/none\n");
  write("config", CONFIG);
  write("info/attributes", ATTRIBUTES);
  write("info/exclude", excluded.map((it) => `${it}\n`).join(""));
}

/** Reports whether a trusted git exists. */
export function hasGit({ sandbox, workdir }: StorePlace): boolean {
  return Deno.build.os !== "windows" && sandbox.outside("git", workdir) !== undefined;
}

/** Reports whether git can be kept from writing where a store only reads. */
export function isJailed({ sandbox }: StorePlace): boolean {
  const jailed = sandbox.alone(["/bin/true"], [], {});
  jailed?.failed?.();
  return jailed !== undefined;
}

/**
 * Runs a script. @returns its exit code and stderr
 * @throws {SvcError} timeout; conflict when the working directory was replaced; unavailable without
 * git
 * @throws the signal's reason
 */
export async function runGit(
  place: StorePlace,
  { script, args = [], sees_files = false, signal, timeout_ms, onStdout }: StoreRun,
): Promise<{ code: number; said: string }> {
  const { dir, workdir, sandbox } = place;
  const found = sandbox.outside("git", workdir);
  if (found === undefined || Deno.build.os === "windows") {
    throw new SvcError("unavailable", "undo needs git, and found none that it can trust", {
      hint: "install git in a directory such as /usr/bin",
    });
  }
  const env: Record<string, string> = { ...ENVIRONMENT, PATH: found.path, GIT_DIR: dir };
  if (sees_files) env.GIT_WORK_TREE = workdir;
  const cwd = sees_files ? workdir : dir;
  const argv = ["/bin/sh", "-c", `umask 077\ncd "$0" || exit 90\n${script}`, cwd, ...args];
  const seen = sees_files ? [{ path: workdir, identity: identityOf(workdir) }] : [];
  const borrowed = join(dir, BORROWED);
  const fixed = exists(borrowed) ? [{ path: borrowed }] : [];
  const jailed = sandbox.alone(argv, [...seen, { path: dir, writable: true }, ...fixed], env);
  let said = "";
  const decoder = new TextDecoder();
  await sandbox.starts.next();
  let end;
  try {
    end = await runProcess({
      argv: jailed ?? { cmd: argv[0], args: argv.slice(1), env },
      cwd: dir,
      sandbox: jailed === undefined ? "none" : sandbox.kind,
      timeout_ms,
      signal,
      onStdout,
      onStderr: (chunk) => said = (said + decoder.decode(chunk)).slice(-STDERR_CHARS),
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new SvcError("internal", `cannot run git: ${messageOf(error)}`, { cause: error });
  }
  if (end.timed_out) {
    throw new SvcError("timeout", `git took longer than ${timeout_ms / 1000} s in ${workdir}`);
  }
  const code = end.exit_code ?? -1;
  if (jailed !== undefined && code === EXCHANGED && sees_files) {
    throw new SvcError("conflict", `${workdir} was replaced by another directory`);
  }
  return { code, said: said.trim() };
}
