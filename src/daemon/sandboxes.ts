/** Sandboxes of sessions' commands, and their shared limits. */
import { Opener } from "../base/lazy.ts";
import type { Config } from "../config/config.ts";
import { openSessionLimits } from "../jail/open_limits.ts";
import { detectSandbox, type Sandbox, shownTo } from "../jail/sandbox.ts";
import type { SessionLimits } from "../jail/session_limits.ts";

interface SandboxesParts {
  config(): Config;
  /** The PATH; undefined for that of the environment. */
  path: string | undefined;
  /** Real paths that sessions can write. */
  writable(): string[];
  /** Directories of the daemon's that no command may see, wherever it works. */
  closed: readonly string[];
}

/** The sandbox of commands, and one that confines nothing, created lazily. */
export class Sandboxes implements Disposable {
  /** See {@linkcode shownTo}. */
  readonly isShown: (path: string) => boolean;
  readonly confined: Opener<Sandbox>;
  /** Runs commands that a person allowed outside of the sandbox. */
  readonly unconfined: Opener<Sandbox>;
  readonly #limits: SessionLimits | undefined;
  #found: Sandbox | undefined;

  constructor({ config, path, writable, closed }: SandboxesParts) {
    const inherited = Deno.env.toObject();
    const environment = path === undefined ? inherited : { ...inherited, PATH: path };
    this.isShown = shownTo(environment);
    const limits = () => config().sandbox;
    this.#limits = openSessionLimits({ limits, writable });
    const detect = (shell: Config["sandbox"]["shell"]) =>
      detectSandbox(shell, environment, limits, writable, this.#limits, closed);
    this.confined = new Opener(async () => this.#found = await detect(limits().shell));
    this.unconfined = new Opener(() => detect("none"));
  }

  /** See {@linkcode Sandbox.runsAbove}. */
  runsAbove(directory: string): string | undefined {
    return this.#found?.runsAbove(directory);
  }

  sessionEnded(session_id: string): void {
    this.#limits?.forget(session_id);
  }

  [Symbol.dispose](): void {
    this.#found?.[Symbol.dispose]();
    this.#limits?.[Symbol.dispose]();
  }
}
