/**
 * The PATH of a daemon that no terminal started: a service manager's or a desktop's is short, so
 * the person's login shell is asked once for the directories that it lacks.
 */
import type { Log } from "../os/log.ts";
import type { Env } from "../os/paths.ts";
import type { CommandPath } from "../verbs/host.ts";

/** What started the daemon: a terminal's PATH is complete. */
export type StartedBy = "terminal" | "service_manager" | "program";

export interface LoginPathParts {
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
  #state: CommandPath = { source: "the daemon's environment", added: [] };

  constructor(parts: LoginPathParts) {
    this.#parts = parts;
    if (parts.started_by === "terminal") {
      this.#state.source = "the terminal that started the daemon";
    }
  }

  /** Resolves when the PATH no longer changes. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Like the daemon's environment, with the whole PATH. */
  readonly env: Env = (name) => name === "PATH" ? this.path : this.#parts.env(name);

  get path(): string | undefined {
    const own = this.#parts.env("PATH");
    const { added } = this.#state;
    return added.length === 0 ? own : [...(own === undefined ? [] : [own]), ...added].join(":");
  }

  /** Where the PATH comes from. */
  get state(): CommandPath {
    return this.#state;
  }

  /**
   * Asks the login shell, if there is a reason to; never fails.
   *
   * @param writable returns real paths that sessions can write
   */
  async begin(writable: () => readonly string[]): Promise<void> {
    const { started_by, ...parts } = this.#parts;
    try {
      if (started_by === "terminal" || Deno.build.os === "windows") return;
      const { askForPath } = await import("./ask_login_shell.ts");
      const note = (now: CommandPath) => this.#state = now;
      await askForPath(
        { ...parts, started_by, writable, source: this.#state.source, note },
        this.#stop.signal,
      );
    } finally {
      this.#ready.resolve();
    }
  }

  /** Ends the shell, if it still runs. */
  stop(): void {
    this.#stop.abort(new Error("the daemon stopped"));
  }
}
