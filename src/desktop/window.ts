/** The app in its own window: a browser in app mode with its own profile. */
import { delay } from "@std/async";
import { join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { isAlive } from "../os/process.ts";
import { signalGroup } from "../os/process_tree.ts";
import { Tail } from "../base/tail.ts";
import { within } from "../base/within.ts";
import { startProgram } from "../os/start.ts";

/** To close its windows. */
const CLOSE_MS = 3_000;
/** How often a browser that is not a child is checked. */
const LOOK_MS = 500;

interface WindowOptions {
  program: string;
  /** Default: that of this process. */
  path?: string;
  /** The directory of its profile. */
  profile: string;
}

function pathOf({ path }: WindowOptions): Record<string, string> {
  return path === undefined ? {} : { PATH: path };
}

export class AppWindow {
  readonly #options: WindowOptions;
  readonly #child: Deno.ChildProcess;
  readonly #said: Tail;
  /**
   * Resolves when the profile's last window is closed.
   * @throws {SvcError} internal when none could be shown
   */
  readonly closed: Promise<void>;

  constructor(url: string, options: WindowOptions) {
    this.#options = options;
    this.#child = startProgram("the window", options.program, {
      args: switches(url, options.profile),
      env: pathOf(options),
      cwd: "/",
      // The shell handles Ctrl-C.
      detached: true,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    });
    this.#said = new Tail(this.#child.stderr);
    this.closed = this.#follow();
  }

  /** Shows another address in the same browser. */
  async show(url: string): Promise<void> {
    const { program, profile } = this.#options;
    await startProgram("the window", program, {
      args: switches(url, profile),
      env: pathOf(this.#options),
      cwd: "/",
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).status;
  }

  async close(): Promise<void> {
    const pid = this.#owner() ?? this.#child.pid;
    signalGroup(pid, "SIGTERM");
    const closed = this.closed.catch(() => {});
    if (await within(closed, CLOSE_MS)) return;
    signalGroup(pid, "SIGKILL");
    await closed;
  }

  async #follow(): Promise<void> {
    const { code, signal } = await this.#child.status;
    await this.#said.read;
    if (code !== 0 && signal === null) {
      const reason = this.#said.text.trim().split("\n").at(-1);
      throw new SvcError("internal", `${this.#options.program} shows no window: ${reason}`, {
        hint: "`svc open` opens the app in your own browser",
      });
    }
    // A browser that already used this profile has taken over the window.
    for (let pid; (pid = this.#owner()) !== undefined && isAlive(pid);) await delay(LOOK_MS);
  }

  /** The process with the profile; undefined if unknown. */
  #owner(): number | undefined {
    try {
      // A link to `<host>-<pid>`.
      const pid = Number(
        Deno.readLinkSync(join(this.#options.profile, "SingletonLock")).split("-").at(-1),
      );
      return Number.isInteger(pid) ? pid : undefined;
    } catch {
      return undefined;
    }
  }
}

function switches(url: string, profile: string): string[] {
  return [
    `--app=${url}`,
    `--user-data-dir=${profile}`,
    "--class=svc",
    "--no-first-run",
    "--no-default-browser-check",
    // Sends nothing of the person's, and needs nothing unlocked.
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--password-store=basic",
    "--use-mock-keychain",
    // Chromium's own sandbox does not work for root.
    ...(Deno.uid() === 0 ? ["--no-sandbox"] : []),
  ];
}

/**
 * Returns the directory of the browser's profile.
 * @param dir the desktop shell's files
 */
export function profileDir(program: string, dir: string, home: string | undefined): string {
  const snap = program.match(/^\/snap\/bin\/([^/]+)$/)?.[1];
  // A snap sees no hidden directory in the home but its own.
  if (snap !== undefined && home !== undefined) return join(home, "snap", snap, "common", "svc");
  return join(dir, "profile");
}
