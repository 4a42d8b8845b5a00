/** Asks the person's login shell for its PATH, where there is a reason to. */
import { SYSTEM_CLOCK } from "../base/clock.ts";
import { askLoginShell, directoriesToAdd } from "../jail/login_shell.ts";
import { realHome } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import { pathDirs } from "../os/which.ts";
import { messageOf } from "../protocol/errors.ts";
import type { CommandPath } from "../verbs/host.ts";
import type { LoginPathParts } from "./login_path.ts";

/** Start-up files get these only: others may keep them from setting what they set in a terminal. */
const PASSED = ["HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR"];

/** They are no shell that a person works with. */
const NO_SHELLS = /\/(?:nologin|false|true)$/;

interface AskParts extends LoginPathParts {
  /** Where the PATH comes from so far. */
  source: string;
  /** Returns real paths that sessions can write; reads the sessions index. */
  writable(): readonly string[];
  /** Called with each new state. */
  note(state: CommandPath): void;
}

/** Asks the login shell, or notes why not; never fails. */
export async function askForPath(parts: AskParts, signal: AbortSignal): Promise<void> {
  const answer = shellToAsk(parts);
  if ("shell" in answer) await ask(answer.shell, parts, signal);
  else if (answer.why !== undefined) parts.note({ source: parts.source + answer.why, added: [] });
}

/** Returns the shell, or why it is not asked. */
function shellToAsk(
  { env, started_by, enabled, writable }: AskParts,
): { shell: string } | { why?: string } {
  const home = realHome(env);
  if (home === undefined) return {};
  if (!enabled) return { why: "; login_path = false in daemon.toml" };
  const at_home = pathDirs(env("PATH")).some((dir) => isWithin(dir, home) && dir !== home);
  if (started_by === "program" && at_home) return { why: ", which has directories of your home" };
  const shell = env("SHELL");
  if (shell === undefined || NO_SHELLS.test(shell)) {
    return { why: ", which names no login shell in SHELL" };
  }
  // It could write the shell's start-up files, which would run outside of the sandbox.
  if (writable().some((dir) => isWithin(home, dir))) {
    return { why: "; a session works in your home, so your login shell was not asked" };
  }
  return { shell };
}

async function ask(
  shell: string,
  { env, log, source, note }: AskParts,
  signal: AbortSignal,
): Promise<void> {
  const started = SYSTEM_CLOCK.now();
  note({ source: `${source}; your login shell ${shell} is being asked`, added: [] });
  try {
    const variables = PASSED.flatMap((name) => {
      const value = env(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const environment = {
      ...Object.fromEntries(variables),
      SHELL: shell,
      TERM: "dumb",
      SVC_READS_PATH: "1",
    };
    const found = await askLoginShell(shell, environment, signal);
    const { added, left_out } = directoriesToAdd(env("PATH"), found);
    const problem = left_out.length === 0
      ? undefined
      : `other users can write to ${left_out.join(", ")}, which is left out`;
    note({ source: `${source}, with what your login shell ${shell} adds`, added, problem });
    const ms = Math.round(SYSTEM_CLOCK.now() - started);
    log.info("the login shell was asked for its PATH", { shell, added, left_out, ms });
  } catch (error) {
    const problem = `your login shell ${shell} ${messageOf(error)}`;
    note({ source, added: [], problem });
    log.warn("the login shell gave no PATH", { shell, problem });
  }
}
