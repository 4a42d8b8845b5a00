/**
 * Prints what happens, a whole line at a time. While something is being typed the lines wait for a
 * moment, so that they do not come between its letters.
 */

export interface LineOutputParts {
  write(text: string): void;
  /** Whether something is being typed. */
  typing(): boolean;
  /** Ends the line on which a prompt stands, or what is being typed. */
  leave(): void;
  /** Something was printed below a prompt: it is to be shown again. */
  onPrinted(): void;
}

/** How what is done later is timed. */
export interface Timers {
  set(action: () => void, ms: number): number;
  clear(timer: number | undefined): void;
}

const OWN_TIMERS: Timers = {
  set: (action, ms) => setTimeout(action, ms),
  clear: (timer) => clearTimeout(timer),
};

/** How long lines wait for the next key, and the end of a line for its rest. */
const WAIT_MS = 1_500;
/** How long after the last line the prompt is shown again. */
const SETTLE_MS = 100;

export class LineOutput {
  readonly #parts: LineOutputParts;
  readonly #timers: Timers;
  /** Lines that wait until nothing is being typed. */
  #waiting = "";
  /** The beginning of a line of which nothing is printed. */
  #begun = "";
  /** Whether the beginning of a line is printed, and its rest not yet. */
  #open = false;
  #hold: number | undefined;
  #rest: number | undefined;
  #settle: number | undefined;

  constructor(parts: LineOutputParts, timers: Timers = OWN_TIMERS) {
    this.#parts = parts;
    this.#timers = timers;
  }

  /** Prints a separate line. */
  say(line: string): void {
    this.endText();
    this.#print(`${line}\n`);
  }

  /** Prints text that comes in pieces. */
  text(piece: string): void {
    this.#timers.clear(this.#rest);
    const text = this.#begun + piece;
    const end = text.lastIndexOf("\n") + 1;
    this.#begun = text.slice(end);
    if (end > 0) this.#print(text.slice(0, end));
    if (this.#begun !== "") this.#rest = this.#timers.set(() => this.#printBegun(), WAIT_MS);
  }

  /** The text has ended, perhaps within a line. */
  endText(): void {
    this.#timers.clear(this.#rest);
    if (this.#begun === "" && !this.#open) return;
    const text = `${this.#begun}\n`;
    this.#begun = "";
    this.#print(text);
  }

  /** Ends the line whose rest is late: something is typed below it. */
  breakLine(): void {
    if (this.#open) this.#parts.write("\n");
    this.#open = false;
  }

  /** A key was pressed: what waits goes on waiting while something is typed. */
  typed(): void {
    if (!this.#parts.typing()) this.flush();
    else if (this.#hold !== undefined) this.#wait();
  }

  /** Prints what waits. */
  flush(): void {
    this.#timers.clear(this.#hold);
    this.#hold = undefined;
    if (this.#waiting === "") return;
    const text = this.#waiting;
    this.#waiting = "";
    this.#write(text);
  }

  /** Prints all that is left. */
  close(): void {
    this.endText();
    this.flush();
    this.#timers.clear(this.#settle);
  }

  #print(text: string): void {
    this.#open = false;
    if (!this.#parts.typing()) {
      this.flush();
      return this.#write(text);
    }
    this.#waiting += text;
    if (this.#hold === undefined) this.#wait();
  }

  #wait(): void {
    this.#timers.clear(this.#hold);
    this.#hold = this.#timers.set(() => this.flush(), WAIT_MS);
  }

  /** Prints the beginning of a line whose rest is late. */
  #printBegun(): void {
    if (this.#parts.typing()) return;
    const text = this.#begun;
    this.#begun = "";
    this.#print(text);
    this.#open = true;
  }

  #write(text: string): void {
    this.#parts.leave();
    this.#parts.write(text);
    this.#timers.clear(this.#settle);
    this.#settle = this.#timers.set(() => this.#parts.onPrinted(), SETTLE_MS);
  }
}
