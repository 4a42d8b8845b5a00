import { plainText } from "../../jail/output.ts";

/** Characters of a line that are looked at. */
const LINE_MAX = 4_096;

/** Cuts output into lines while it is written, without their ends and without escape sequences. */
export class OutputLines {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Takes the next bytes; the chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    const [first, ...lines] = this.#decoder.decode(chunk, { stream: true }).split("\n");
    this.#rest = (this.#rest + first).slice(0, LINE_MAX);
    for (const line of lines) {
      this.#pass();
      this.#rest = line.slice(0, LINE_MAX);
    }
  }

  /** Passes on a last line that has no end. */
  close(): void {
    if (this.#rest !== "") this.#pass();
    this.#rest = "";
  }

  #pass(): void {
    this.#onLine(plainText(this.#rest.replace(/\r$/, "")));
  }
}
