/**
 * The PATH of a daemon that no terminal started: a service manager's or a desktop's is short, so
 * the person's login shell is asked once for the directories that it lacks.
 */
import { SYSTEM_CLOCK } from "../base/clock.ts";
import type { Log } from "../os/log.ts";
import { messageOf } from "../protocol/errors.ts";
import type { CommandPath } from "../verbs/host.ts";
import type { Env } from "../os/paths.ts";
import { isWithin } from "../os/paths.ts";
import { realHome } from "../os/files.ts";
import { pathDirs } from "../os/which.ts";

/** What started the daemon: a terminal's PATH is complete. */
export type StartedBy = "terminal" | "service_manager" | "program";

/** Start-up files get these only: others may keep them from setting what they set in a terminal. */
const PASSED = ["HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR"];

/** They are no shell that a person works with. */
const NO_SHELLS = /\/(?:nologin|false|true)$/;

interface LoginPathParts {
  env: Env;
  started_by: StartedBy;
  /** `[sandbox] login_path` */
  enabled: boolean;
  log: Log;
}

export class LoginPath {
  readonly #parts: LoginPathParts;
  readonly #ready = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  #added: string[] = [];
  #source = "the daemon's environment";
  #problem: string | undefined;

  constructor(parts: LoginPathParts) {
    this.#parts = parts;
    if (parts.started_by === "terminal") this.#source = "the terminal that started the daemon";
  }

  /** Resolves when the PATH no longer changes. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Like the daemon's environment, with the whole PATH. */
  readonly env: Env = (name) => name === "PATH" ? this.path : this.#parts.env(name);

  get path(): string | undefined {
    const own = this.#parts.env("PATH");
    if (this.#added.length === 0) return own;
    return [...(own === undefined ? [] : [own]), ...this.#added].join(":");
  }

  /** Where the PATH comes from. */
  get state(): CommandPath {
    return { source: this.#source, added: this.#added, problem: this.#problem };
  }

  /**
   * Asks the login shell, if there is a reason to; never fails.
   *
   * @param writable real paths that sessions can write
   */
  async begin(writable: readonly string[]): Promise<void> {
    try {
      const shell = this.#shellToAsk(writable);
      if (shell !== undefined) await this.#ask(shell);
    } finally {
      this.#ready.resolve();
    }
  }

  /** Ends the shell, if it still runs. */
  stop(): void {
    this.#stop.abort(new Error("the daemon stopped"));
  }

  /** Undefined if it is not asked. */
  #shellToAsk(writable: readonly string[]): string | undefined {
    const { env, started_by, enabled } = this.#parts;
    if (started_by === "terminal" || Deno.build.os === "windows") return undefined;
    const home = realHome(env);
    if (home === undefined) return undefined;
    if (!enabled) {
      this.#source += "; login_path = false in daemon.toml";
      return undefined;
    }
    const at_home = pathDirs(env("PATH")).some((dir) => isWithin(dir, home) && dir !== home);
    if (started_by === "program" && at_home) {
      this.#source += ", which has directories of your home";
      return undefined;
    }
    const shell = env("SHELL");
    if (shell === undefined || NO_SHELLS.test(shell)) {
      this.#source += ", which names no login shell in SHELL";
      return undefined;
    }
    // It could write the shell's start-up files, which would run outside of the sandbox.
    if (writable.some((dir) => isWithin(home, dir))) {
      this.#source += "; a session works in your home, so your login shell was not asked";
      return undefined;
    }
    return shell;
  }

  async #ask(shell: string): Promise<void> {
    const { env, log } = this.#parts;
    const started = SYSTEM_CLOCK.now();
    const own = this.#source;
    this.#source = `${own}; your login shell ${shell} is being asked`;
    try {
      const { askLoginShell, directoriesToAdd } = await import("../jail/login_shell.ts");
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
      const found = await askLoginShell(shell, environment, this.#stop.signal);
      const { added, left_out } = directoriesToAdd(env("PATH"), found);
      this.#added = added;
      this.#source = `${own}, with what your login shell ${shell} adds`;
      const ms = Math.round(SYSTEM_CLOCK.now() - started);
      log.info("the login shell was asked for its PATH", { shell, added, left_out, ms });
      if (left_out.length > 0) {
        this.#problem = `other users can write to ${left_out.join(", ")}, which is left out`;
      }
    } catch (error) {
      this.#source = own;
      this.#problem = `your login shell ${shell} ${messageOf(error)}`;
      log.warn("the login shell gave no PATH", { shell, problem: this.#problem });
    }
  }
}
