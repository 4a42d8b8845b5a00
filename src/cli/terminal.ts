/** The terminal as a screen: raw input, an own buffer, and its restoration on every way out. */
import { within } from "../base/within.ts";
import { writeAllSync } from "../base/write_all.ts";
import { DEFAULT_SIZE, type Size } from "../features/tui/arrange.ts";
import { TerminalInput } from "./terminal_input.ts";
import { KeyDecoder, type TerminalEvent } from "./terminal_keys.ts";
import { ASK_BACKGROUND, type Background } from "./theme_choice.ts";

export interface TerminalEvents {
  onInput(input: TerminalEvent): void;
  /** The size changed, or the screen was cleared. */
  onRedraw(): void;
  /** The terminal tells its background, perhaps never. */
  onBackground?(background: Background | undefined): void;
  /** A signal or the end of the input: the program must end with this code. */
  onLeave(code: number): void;
}

/** Alternate buffer, bracketed paste, no wrapping at the edge, cleared. */
const ENTER = "\x1b[?1049h\x1b[?2004h\x1b[?7l\x1b[2J\x1b[H";
/**
 * Undoes it, and what a frame may have begun: synchronized update, a style, a hidden cursor. Where
 * there is no alternate buffer, as in GNU screen, what comes next has the last row to itself.
 */
const LEAVE = "\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?2004l\x1b[?25h\x1b[999;1H\x1b[2K\x1b[?1049l";
/**
 * Keys that are told apart: kitty's protocol with the Latin key of each, else xterm's. The title is
 * kept, and the window tells when it gets the focus.
 */
const ENTER_MORE = "\x1b[>4;1m\x1b[>5u\x1b[?1004h\x1b[22;2t";
const LEAVE_MORE = "\x1b[23;2t\x1b[?1004l\x1b[<u\x1b[>4m";
/** Presses, drags and the wheel, with places beyond column 223. */
const MOUSE_ON = "\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF = "\x1b[?1006l\x1b[?1002l";
/** A lone Esc is the key if nothing follows in this time. */
const ESCAPE_MS = 50;
/** Signals that end the program, with their numbers: it exits with 128 plus the number. */
const ENDING: readonly (readonly [Deno.Signal, number])[] = [
  ["SIGHUP", 1],
  ["SIGINT", 2],
  ["SIGQUIT", 3],
  ["SIGTERM", 15],
];
/** Signals that keys send to every program of the terminal. */
const FROM_KEYS: readonly Deno.Signal[] = ["SIGINT", "SIGQUIT"];
const SIGNAL_BASE = 128;
const HANGUP = SIGNAL_BASE + 1;
/** How long to wait for a terminal to take pending output. */
const SETTLE_MS = 1_000;

/** Terminals that would show part of what they do not know. */
const OLD = /^(linux|vt\d|ansi|cons)/;

export interface TerminalOptions {
  /** What TERM says. */
  term: string;
  /** Whether clicks and the wheel come here; otherwise the terminal selects text itself. */
  mouse: boolean;
}

export class Terminal {
  readonly #events: TerminalEvents;
  readonly #options: TerminalOptions;
  readonly #listeners: [Deno.Signal, () => void][] = [];
  readonly #restore = () => this.#leave();
  readonly #input = new TerminalInput();
  #entered = false;
  #closed = false;
  /** Whether another program has the terminal. */
  #lent = false;
  #escape: number | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** Takes the terminal over; {@linkcode close} gives it back. */
  constructor(events: TerminalEvents, options: TerminalOptions) {
    this.#events = events;
    this.#options = options;
    if (Deno.build.os !== "windows") this.#listen();
    // An uncaught error, and Deno.exit from anywhere.
    for (const type of ["error", "unhandledrejection", "unload"]) {
      globalThis.addEventListener(type, this.#restore);
    }
    this.#enter();
    if (events.onBackground !== undefined && this.takesCommands) writeNow(ASK_BACKGROUND);
    this.#read();
  }

  size(): Size {
    try {
      const { columns: cols, rows } = Deno.consoleSize();
      return cols > 0 && rows > 0 ? { cols, rows } : DEFAULT_SIZE;
    } catch {
      return DEFAULT_SIZE;
    }
  }

  /** Writes unless closed. Resolves when the terminal has taken all, or is gone. */
  async write(text: string): Promise<void> {
    await (this.#writing = this.#write(text));
  }

  /** Has clicks and the wheel come here, or not. */
  set mouse(mouse: boolean) {
    if (mouse === this.#options.mouse) return;
    this.#options.mouse = mouse;
    if (this.#entered) void this.write(mouse ? MOUSE_ON : MOUSE_OFF);
  }

  /** Stops the whole job as Ctrl-Z does, until the shell continues it. */
  suspend(): void {
    if (Deno.build.os !== "windows") Deno.kill(0, "SIGTSTP");
  }

  /** Gives the terminal to another program, and takes it back. */
  async lend<T>(use: () => Promise<T>): Promise<T> {
    await this.#input.pause();
    await this.#settled();
    this.#leave();
    this.#lent = true;
    try {
      return await use();
    } finally {
      this.#lent = false;
      this.#enter();
      this.#input.resume();
      this.#events.onRedraw();
    }
  }

  /** Restores the terminal. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#input[Symbol.dispose]();
    clearTimeout(this.#escape);
    for (const [signal, listener] of this.#listeners.splice(0)) {
      Deno.removeSignalListener(signal, listener);
    }
    for (const type of ["error", "unhandledrejection", "unload"]) {
      globalThis.removeEventListener(type, this.#restore);
    }
    if (await this.#settled()) this.#leave();
  }

  #listen(): void {
    for (const [signal, number] of ENDING) {
      this.#on(signal, () => {
        // Ctrl-C in the other program is for that one.
        if (this.#lent && FROM_KEYS.includes(signal)) return;
        this.#events.onLeave(SIGNAL_BASE + number);
      });
    }
    this.#on("SIGWINCH", () => this.#events.onRedraw());
    this.#on("SIGTSTP", async () => {
      if (await this.#settled()) this.#leave();
      Deno.kill(Deno.pid, "SIGSTOP");
    });
    this.#on("SIGCONT", () => {
      this.#enter();
      this.#events.onRedraw();
    });
  }

  #on(signal: Deno.Signal, listener: () => void): void {
    Deno.addSignalListener(signal, listener);
    this.#listeners.push([signal, listener]);
  }

  /** Whether it takes or skips what only newer terminals know: titles, questions to it, links. */
  get takesCommands(): boolean {
    return !OLD.test(this.#options.term);
  }

  #enter(): void {
    if (this.#entered || this.#closed || this.#lent) return;
    Deno.stdin.setRaw(true);
    writeNow(
      `${ENTER}${this.takesCommands ? ENTER_MORE : ""}${this.#options.mouse ? MOUSE_ON : ""}`,
    );
    this.#entered = true;
  }

  #leave(): void {
    if (!this.#entered) return;
    this.#entered = false;
    try {
      const more = this.takesCommands ? LEAVE_MORE : "";
      writeNow(`${this.#options.mouse ? MOUSE_OFF : ""}${more}${LEAVE}`);
      Deno.stdin.setRaw(false);
    } catch {
      // The terminal is gone.
    }
  }

  async #read(): Promise<void> {
    const decoder = new KeyDecoder((background) => this.#events.onBackground?.(background));
    const buffer = new Uint8Array(16 * 1024);
    const next = () => this.#closed ? null : this.#input.read(buffer).catch(() => null);
    for (let size; (size = await next()) !== null;) {
      clearTimeout(this.#escape);
      this.#take(decoder.feed(buffer.subarray(0, size)));
      if (decoder.waiting) {
        this.#escape = setTimeout(() => this.#take(decoder.flush()), ESCAPE_MS);
      }
    }
    this.#gone();
  }

  async #write(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    try {
      for (let done = 0; done < bytes.length && this.#entered;) {
        done += await Deno.stdout.write(bytes.subarray(done));
      }
    } catch {
      this.#gone();
    }
  }

  /** Whether all output was taken; a terminal that takes nothing is left as it is. */
  async #settled(): Promise<boolean> {
    return await within(this.#writing, SETTLE_MS);
  }

  #gone(): void {
    if (!this.#closed) this.#events.onLeave(HANGUP);
  }

  #take(inputs: readonly TerminalEvent[]): void {
    if (!this.#closed) { for (const input of inputs) this.#events.onInput(input); }
  }
}

function writeNow(text: string): void {
  writeAllSync(Deno.stdout, new TextEncoder().encode(text));
}
