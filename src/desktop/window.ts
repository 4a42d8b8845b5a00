/** The app in a window of its own: a browser in app mode, with a profile that is the shell's. */
import { delay } from "@std/async";
import { join } from "@std/path";
import { SvcError } from "../protocol/errors.ts";
import { isAlive } from "../os/process.ts";
import { signalGroup } from "../os/process_tree.ts";
import { Tail } from "../base/tail.ts";
import { within } from "../base/within.ts";
import { startProgram } from "../os/start.ts";

/** How long a browser may take to close its windows. */
const CLOSE_MS = 3_000;
/** How often a browser that is not a child is looked at. */
const LOOK_MS = 500;

export interface WindowOptions {
  /** The browser's program. */
  program: string;
  /** The PATH that it is given; else that of this process. */
  path?: string;
  /** Directory of its profile. */
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
   * Resolves when the browser has closed its last window of this profile.
   *
   * @throws {SvcError} internal when it could not show one.
   */
  readonly closed: Promise<void>;

  constructor(url: string, options: WindowOptions) {
    this.#options = options;
    this.#child = startProgram("the window", options.program, {
      args: switches(url, options.profile),
      env: pathOf(options),
      cwd: "/",
      // Ctrl-C is the shell's to answer.
      detached: true,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    });
    this.#said = new Tail(this.#child.stderr);
    this.closed = this.#follow();
  }

  /** Shows another address, in a window of the same browser. */
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

  /** Closes the browser's windows. */
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
    // A browser that had this profile open already has taken the window over.
    for (let pid; (pid = this.#owner()) !== undefined && isAlive(pid);) await delay(LOOK_MS);
  }

  /** The process that has the profile open; undefined where the system does not tell. */
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
    // Nothing of the person's goes anywhere from here, and nothing has to be unlocked for it.
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--password-store=basic",
    "--use-mock-keychain",
    // Chromium's own sandbox refuses to work for root.
    ...(Deno.uid() === 0 ? ["--no-sandbox"] : []),
  ];
}

/**
 * Where the browser keeps the profile of the app's window.
 *
 * @param dir of the desktop shell's files.
 * @param home the person's home.
 */
export function profileDir(program: string, dir: string, home: string | undefined): string {
  const snap = program.match(/^\/snap\/bin\/([^/]+)$/)?.[1];
  // A snap sees no hidden directory of the home but its own.
  if (snap !== undefined && home !== undefined) return join(home, "snap", snap, "common", "svc");
  return join(dir, "profile");
}
