import { LineSplitter } from "../../base/line_splitter.ts";
import { onScreen } from "../../jail/screen.ts";

/** In characters. */
const LINE_MAX = 4_096;
/** The most bytes of that many characters. */
const LINE_BYTES_MAX = 4 * LINE_MAX;

/** Splits output into lines, without line ends and escape sequences. */
export class OutputLines {
  readonly #lines: LineSplitter;
  #long = "";

  constructor(onLine: (line: string) => void) {
    const decoder = new TextDecoder();
    const pass = (text: string) => onLine(onScreen(text.slice(0, LINE_MAX)));
    this.#lines = new LineSplitter(LINE_BYTES_MAX, {
      line: (bytes) => pass(decoder.decode(bytes)),
      tooLong: (piece) => {
        if (this.#long.length >= LINE_MAX) return;
        this.#long += decoder.decode(piece.subarray(0, LINE_BYTES_MAX), { stream: true });
      },
      tooLongEnd: () => {
        decoder.decode();
        pass(this.#long);
        this.#long = "";
      },
    });
  }

  /** The chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    this.#lines.push(chunk);
  }

  /** Passes on an incomplete last line. */
  close(): void {
    this.#lines.close();
  }
}
