/**
 * Lines that a person types where the conversation only scrolls. On a terminal each key is written
 * once, as it is typed, and a deleted character is deleted as shells do it: a screen reader says
 * both. Nothing else is moved or drawn again, and no escape sequence is sent.
 */
import { writeAllSync } from "../base/write_all.ts";
import { plainText } from "../features/tui/chips.ts";
import type { Key } from "../features/tui/keys.ts";
import { graphemes, untabbed, width } from "../features/tui/text.ts";
import { KeyDecoder, type TerminalEvent } from "./terminal_keys.ts";

export interface LineEvents {
  onLine(line: string): void;
  /** The first character of a line is about to be written. */
  onBegin(): void;
  /** What is being typed has changed. */
  onTyped(): void;
  /** Ctrl-C. */
  onInterrupt(): void;
  /** Ctrl-R. */
  onSearch(): void;
  /** The input has ended, or a signal ends the program with this code. */
  onEnd(code: number): void;
}

/** Signals that end the program, with their numbers. */
const ENDING: readonly (readonly [Deno.Signal, number])[] = [
  ["SIGHUP", 1],
  ["SIGINT", 2],
  ["SIGTERM", 15],
];
const SIGNAL_BASE = 128;
const LINES_KEPT = 500;
/** A lone Esc is the key if nothing follows in this time. */
const ESCAPE_MS = 50;
/** A longer line is not typed. */
const LINE_MAX = 1024 * 1024;

export class LineInput {
  /** Whether keys are read as they are typed; otherwise the terminal gives whole lines. */
  readonly terminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  readonly #events: LineEvents;
  readonly #listeners: [Deno.Signal, () => void][] = [];
  readonly #restore = () => this.#raw(false);
  #line = "";
  #prompt = "";
  /** Whether the cursor stands behind a prompt or what is being typed. */
  #open = false;
  /** Earlier lines, oldest first, and where Up has come. */
  #earlier: string[] = [];
  #at = 0;
  #closed = false;
  #escape: number | undefined;

  constructor(events: LineEvents) {
    this.#events = events;
    if (this.terminal) {
      globalThis.addEventListener("unload", this.#restore);
      this.#raw(true);
      if (Deno.build.os !== "windows") this.#listen();
    }
    void this.#read();
  }

  /** What is being typed. */
  get line(): string {
    return this.#line;
  }

  /** Whether a prompt is shown, or what is being typed. */
  get open(): boolean {
    return this.#open;
  }

  /** Shows a prompt, and what is being typed behind it. */
  prompt(prompt: string): void {
    this.leave();
    this.#prompt = prompt;
    if (this.terminal) {
      write(`${prompt}${this.#line}`);
      this.#open = true;
    }
  }

  /** Ends the line on which something is typed: something else is printed. */
  leave(): void {
    if (this.#open) write("\n");
    this.#open = false;
  }

  /** Puts a text in the place of what is being typed. */
  set(text: string): void {
    const line = oneLine(text);
    if (this.terminal && line.startsWith(this.#line) && (this.#open || line === "")) {
      write(line.slice(this.#line.length));
      this.#line = line;
    } else {
      this.#line = line;
      this.prompt(this.#prompt);
    }
    this.#events.onTyped();
  }

  /** Keeps a line for Up. */
  remember(line: string): void {
    if (line.trim() === "") return;
    this.#earlier = [...this.#earlier.filter((it) => it !== line), line].slice(-LINES_KEPT);
    this.#at = this.#earlier.length;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#escape);
    this.#raw(false);
    globalThis.removeEventListener("unload", this.#restore);
    for (const [signal, listener] of this.#listeners.splice(0)) {
      Deno.removeSignalListener(signal, listener);
    }
  }

  #raw(on: boolean): void {
    if (!this.terminal) return;
    try {
      Deno.stdin.setRaw(on);
    } catch {
      // The terminal is gone.
    }
  }

  #listen(): void {
    for (const [signal, number] of ENDING) {
      this.#on(signal, () => this.#events.onEnd(SIGNAL_BASE + number));
    }
    this.#on("SIGCONT", () => {
      this.#raw(true);
      this.#open = false;
      this.prompt(this.#prompt);
    });
  }

  #on(signal: Deno.Signal, listener: () => void): void {
    Deno.addSignalListener(signal, listener);
    this.#listeners.push([signal, listener]);
  }

  async #read(): Promise<void> {
    const decoder = new KeyDecoder();
    const text = new TextDecoder();
    const buffer = new Uint8Array(16 * 1024);
    let begun = "";
    const next = () => this.#closed ? null : Deno.stdin.read(buffer).catch(() => null);
    for (let size; (size = await next()) !== null;) {
      const bytes = buffer.subarray(0, size);
      if (this.terminal) {
        clearTimeout(this.#escape);
        this.#take(decoder.feed(bytes));
        if (decoder.waiting) {
          this.#escape = setTimeout(() => this.#take(decoder.flush()), ESCAPE_MS);
        }
        continue;
      }
      const lines = (begun + text.decode(bytes, { stream: true })).split("\n");
      begun = lines.pop()!;
      for (const line of lines) this.#events.onLine(line.replace(/\r$/, ""));
    }
    if (!this.#closed) this.#events.onEnd(0);
  }

  #take(keys: readonly TerminalEvent[]): void {
    for (const key of keys) {
      if (key.type !== "mouse" && key.type !== "focus" && !this.#closed) this.#press(key);
    }
  }

  #press(key: Key): void {
    if (key.type !== "named") return this.#paste(key.text);
    switch (key.name) {
      case "enter":
      case "ctrl-j":
        return this.#enter();
      case "backspace":
      case "ctrl-h":
        return this.#erase(graphemes(this.#line).at(-1) ?? "");
      case "ctrl-w":
        return this.#erase(/\S*\s*$/.exec(this.#line)![0]);
      case "ctrl-u":
        return this.#erase(this.#line);
      case "tab":
        return this.#type(untabbed("\t"));
      case "up":
        return this.#recall(-1);
      case "down":
        return this.#recall(1);
      case "ctrl-c":
        return this.#events.onInterrupt();
      case "ctrl-d":
        return this.#line === "" ? this.#events.onEnd(0) : undefined;
      case "ctrl-r":
        return this.#events.onSearch();
      case "ctrl-z":
        return this.#suspend();
    }
  }

  /** Takes text that may have several lines: each is one, as if it were typed. */
  #paste(text: string): void {
    for (const [n, part] of plainText(text).split("\n").entries()) {
      if (n > 0) this.#enter();
      this.#type(untabbed(part));
    }
  }

  #type(text: string): void {
    if (text === "" || this.#line.length + text.length > LINE_MAX) return;
    if (!this.#open) this.#events.onBegin();
    this.#line += text;
    this.#open = true;
    write(text);
    this.#events.onTyped();
  }

  #erase(text: string): void {
    if (text === "") return;
    this.#line = this.#line.slice(0, -text.length);
    write("\b \b".repeat(width(text)));
    this.#events.onTyped();
  }

  #enter(): void {
    const line = this.#line;
    this.#line = "";
    write("\n");
    this.#open = false;
    this.remember(line);
    this.#events.onLine(line);
  }

  #recall(by: -1 | 1): void {
    const at = this.#at + by;
    if (at < 0 || at > this.#earlier.length) return;
    this.#at = at;
    this.#line = this.#earlier[at] ?? "";
    this.prompt(this.#prompt);
    this.#events.onTyped();
  }

  #suspend(): void {
    if (Deno.build.os === "windows") return;
    this.leave();
    this.#raw(false);
    Deno.kill(0, "SIGTSTP");
  }
}

function oneLine(text: string): string {
  return untabbed(plainText(text)).replaceAll("\n", " ");
}

function write(text: string): void {
  writeAllSync(Deno.stdout, new TextEncoder().encode(text));
}
