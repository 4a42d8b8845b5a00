/** A real terminal for tests: tmux with a server of its own, driven and read from outside. */
import { join } from "@std/path";
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";
import { until } from "./scripted.ts";
import type { Place } from "./svc.ts";

/** Whether tmux is there and may be started. */
export const has_tmux = granted("run", "read", "write", "env") &&
  noted(isInstalled(), "tmux");

function isInstalled(): boolean {
  try {
    return new Deno.Command("tmux", { args: ["-V"], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch {
    return false;
  }
}

export interface TerminalOptions {
  /** Default 80. */
  cols?: number;
  /** Default 24. */
  rows?: number;
  env?: Record<string, string>;
}

/** A terminal with a shell in it; its server ends with it. */
export class TmuxTerminal implements AsyncDisposable {
  readonly #socket: string;

  private constructor(socket: string) {
    this.#socket = socket;
  }

  /** Opens one with the place's environment. */
  static async open(place: Place, options: TerminalOptions = {}): Promise<TmuxTerminal> {
    const { cols = 80, rows = 24, env = {} } = options;
    const terminal = new TmuxTerminal(join(place.dir, `tmux-${crypto.randomUUID().slice(0, 8)}`));
    const vars = Object.entries({ ...place.env, LANG: "C.UTF-8", PS1: "$ ", ...env })
      .flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    await terminal.#tmux(
      ...["-f", "/dev/null", "new-session", "-d", "-x", `${cols}`, "-y", `${rows}`, ...vars],
      ...["-c", place.dir, "sh"],
    );
    return terminal;
  }

  /** Types a line into the shell, or whatever runs. */
  async line(text: string): Promise<void> {
    await this.type(text);
    await this.press("Enter");
  }

  /** Types text as it is. */
  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-l", text);
  }

  /** Presses keys by tmux's names: Enter, Escape, C-c, PPage. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  /** Pastes as a terminal does that knows bracketed paste. */
  async paste(text: string): Promise<void> {
    await this.#tmux("set-buffer", text);
    await this.#tmux("paste-buffer", "-p", "-r");
  }

  /** Pastes what a file has, as {@linkcode TmuxTerminal.paste} does. */
  async pasteFile(path: string): Promise<void> {
    await this.#tmux("load-buffer", path);
    await this.#tmux("paste-buffer", "-p", "-r");
  }

  /** What it shows. */
  async text(): Promise<string> {
    return await this.#tmux("capture-pane", "-p");
  }

  /** What it shows, with its styles as escape sequences. */
  async styled(): Promise<string> {
    return await this.#tmux("capture-pane", "-p", "-e");
  }

  /** Waits until it shows something. @returns the screen then. */
  async shows(what: string | RegExp, timeout_ms = 60_000): Promise<string> {
    let screen = "";
    try {
      await until(
        async () => {
          screen = await this.text();
          return typeof what === "string" ? screen.includes(what) : what.test(screen);
        },
        `the terminal shows ${what}`,
        timeout_ms,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}; it shows:\n${screen}`);
    }
    return screen;
  }

  /**
   * Waits until `svc chat` without the whole screen takes a line: what is typed before its prompt is
   * there is drawn in front of it. @returns the screen then.
   */
  async prompted(timeout_ms?: number): Promise<string> {
    return await this.shows(/(?:^|\n)You:\s*$/, timeout_ms);
  }

  /** Writes all that its programs send it to a file, from now on: the bytes, not what they show. */
  async record(path: string): Promise<void> {
    await this.#tmux("pipe-pane", `cat >> '${path}'`);
  }

  /** What programs put into the clipboard (OSC 52). Call it before they do, to have them heard. */
  async clipboard(): Promise<string> {
    await this.#tmux("set-option", "-s", "set-clipboard", "on");
    return await this.#tmux("show-buffer").catch(() => "");
  }

  /** Whether a program has the mouse. */
  async mouse(): Promise<boolean> {
    return (await this.#tmux("display-message", "-p", "#{mouse_any_flag}")).trim() === "1";
  }

  /** The title that a program gave the window. */
  async title(): Promise<string> {
    return (await this.#tmux("display-message", "-p", "#{pane_title}")).trim();
  }

  /** Has programs without an alternate screen, as GNU screen does. */
  async withoutAlternate(): Promise<void> {
    await this.#tmux("set-option", "-g", "alternate-screen", "off");
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#tmux("resize-window", "-x", `${cols}`, "-y", `${rows}`);
  }

  /** Whether a program has the alternate screen. */
  async alternate(): Promise<boolean> {
    return (await this.#tmux("display-message", "-p", "#{alternate_on}")).trim() === "1";
  }

  async #tmux(...args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("tmux", {
      args: ["-u", "-S", this.#socket, ...args],
      env: { TERM: "xterm-256color", LANG: "C.UTF-8", PATH: Deno.env.get("PATH") ?? "" },
      clearEnv: true,
    }).output();
    if (!success) throw new Error(`tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => {});
  }
}
