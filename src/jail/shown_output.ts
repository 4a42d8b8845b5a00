/** The output of a command as a terminal shows it at its end, in bounded memory. */
import { concat } from "../base/bytes.ts";
import { lineDecoder } from "../base/edits/encoding.ts";
import { looksLike, PLAIN_LOOK, runsOf } from "../base/looks.ts";
import type { OnOutput } from "../base/redraw.ts";
import { LiveOutput } from "./live_output.ts";
import { BoundedOutput, completeLength, grouped } from "./output.ts";
import { Screen } from "./screen.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Looks of a longer text are not kept: it is not shown whole. */
const LOOKS_MAX = 64 * 1024;
/** Omitted lines that are shown because they name an error: how many, and how much of each. */
const NAMED_MAX = 20;
const NAMED_CHARS = 300;
const NAMES_ERROR =
  /\b(?:error|fatal|panic(?:ked)?|failed|failure|exception|traceback|segmentation fault|undefined reference)\b/gi;

/** Share of control characters that marks bytes as binary if they are not UTF-8. */
const CONTROLS_MAX = 0.02;
/** The same for UTF-8. */
const CONTROLS_MAX_UTF8 = 0.3;
/** Shorter text between binary parts counts as binary. */
const BETWEEN_MAX = 2 * 1024;

export class ShownOutput {
  readonly #kept: BoundedOutput;
  readonly #encoder = new TextEncoder();
  readonly #screen = new Screen((text, looks) => this.#keep(text, looks));
  /** Looks of the text so far, once one is not plain; none of what is too long. */
  #looks: string | undefined = "";
  /** Code units of the text so far. */
  #length = 0;
  /** Lines that name an error, with the position of their ends. */
  readonly #named: { line: string; end: number }[] = [];
  /** An incomplete character. */
  #rest: Bytes = new Uint8Array();
  #binary = 0;
  /** Text after binary, which may be a part of it. */
  #between: Bytes = new Uint8Array();
  #whole: string | undefined;
  readonly #live: LiveOutput | undefined;

  /** @param onOutput receives a preview; see {@linkcode LiveOutput} */
  constructor(head_bytes?: number, tail_bytes?: number, onOutput?: OnOutput) {
    this.#kept = new BoundedOutput(head_bytes, tail_bytes);
    this.#live = onOutput && new LiveOutput(onOutput, this.#screen);
  }

  get truncated(): boolean {
    this.text();
    return this.#kept.truncated;
  }

  /** Adds bytes. The chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    const bytes = concat([this.#rest, chunk]);
    const complete = completeLength(bytes);
    this.#rest = bytes.slice(complete);
    this.#add(bytes.subarray(0, complete));
    this.#live?.drawn();
  }

  /** Ends the preview with its rest. */
  close(): void {
    this.#live?.close();
  }

  /** Returns all that is shown. Call it after the last push. */
  text(): string {
    return this.#whole ??= this.#finish();
  }

  /** The runs of characters that are not plain (`base/looks.ts`), of an output that is all there. */
  get runs(): number[] | undefined {
    const text = this.text();
    if (!this.#looks || this.#kept.truncated || this.#looks.length !== text.length) {
      return undefined;
    }
    return runsOf(this.#looks);
  }

  #keepLooks(text: string, looks: string): void {
    const before = this.#length;
    this.#length += text.length;
    if (this.#looks === undefined || (looks === "" && this.#looks === "")) return;
    if (this.#looks === "") this.#looks = PLAIN_LOOK.repeat(Math.min(before, LOOKS_MAX));
    this.#looks += looks === "" ? looksLike(text) : looks;
    if (this.#length > LOOKS_MAX) this.#looks = undefined;
  }

  #finish(): string {
    this.#add(this.#rest);
    this.#endBinary(this.#between);
    this.#screen.end();
    const { left_out } = this.#kept;
    if (left_out === undefined) return this.#kept.text();
    const named = this.#named.filter(({ end }) => end > left_out.from && end <= left_out.to);
    if (named.length === 0) return this.#kept.text();
    const more = named.length === NAMED_MAX ? " (the first ones)" : "";
    const lines = named.map(({ line }) => line).join("\n");
    return this.#kept.text(`[lines in them that name an error${more}:]\n${lines}\n[…]`);
  }

  #add(bytes: Bytes): void {
    const text = bytes.includes(0) ? undefined : utf8Of(bytes);
    if (text !== undefined && this.#binary === 0) return this.#screen.write(text);
    for (const { piece, binary } of pieces(bytes, this.#binary > 0)) {
      if (binary) {
        this.#binary += this.#between.length + piece.length;
        this.#between = new Uint8Array();
      } else if (this.#binary === 0) {
        this.#screen.write(lineDecoder(piece)(piece));
      } else {
        this.#between = concat([this.#between, piece]);
        if (this.#between.length > BETWEEN_MAX) this.#endBinary(this.#between);
      }
    }
  }

  /** Reports the size of the binary part, and goes on with text. */
  #endBinary(text: Bytes): void {
    if (this.#binary === 0) return;
    const said = `[binary output, ${grouped(this.#binary)} bytes]`;
    this.#binary = 0;
    this.#between = new Uint8Array();
    this.#screen.write(`${this.#screen.column === 0 ? "" : "\n"}${said}\n`);
    this.#screen.write(lineDecoder(text)(text));
  }

  #keep(text: string, looks: string): void {
    this.#live?.scrolled(text, looks);
    this.#keepLooks(text, looks);
    const before = this.#kept.total;
    this.#kept.push(this.#encoder.encode(text));
    NAMES_ERROR.lastIndex = 0;
    while (this.#named.length < NAMED_MAX) {
      const found = NAMES_ERROR.exec(text);
      if (found === null) return;
      const start = text.lastIndexOf("\n", found.index) + 1;
      const newline = text.indexOf("\n", found.index);
      const end = newline < 0 ? text.length : newline;
      // Lines that are kept anyway must not take the place of others.
      const at = before + end;
      if (at > this.#kept.head_max) {
        this.#named.push({ line: text.slice(start, Math.min(end, start + NAMED_CHARS)), end: at });
      }
      NAMES_ERROR.lastIndex = end;
    }
  }
}

/** UTF-8 text; undefined for other bytes. */
function utf8Of(bytes: Bytes): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Splits bytes into lines. Unclear lines next to binary are binary too. */
function pieces(bytes: Bytes, after_binary: boolean): { piece: Bytes; binary: boolean }[] {
  const lines: { piece: Bytes; binary: boolean; clean: boolean }[] = [];
  for (let at = 0; at < bytes.length;) {
    const newline = bytes.indexOf(10, at);
    const end = newline < 0 ? bytes.length : newline + 1;
    const piece = bytes.subarray(at, end);
    const { clean, certain } = looksBinary(piece);
    const binary = certain || (!clean && (lines.at(-1)?.binary ?? after_binary));
    lines.push({ piece, binary, clean });
    at = end;
  }
  for (let n = lines.length - 2; n >= 0; n--) {
    if (!lines[n].clean && lines[n + 1].binary) lines[n].binary = true;
  }
  return lines;
}

/** `certain`: binary. `clean`: has only what text has. */
function looksBinary(bytes: Bytes): { certain: boolean; clean: boolean } {
  let controls = 0;
  for (const [n, byte] of bytes.entries()) {
    // A single zero separates text, or belongs to UTF-16.
    const is_zero = byte === 0 && (bytes[n - 1] === 0 || bytes[n + 1] === 0);
    const is_control = byte < 32 && !SHOWN_CONTROLS.has(byte);
    if (is_zero || (is_control && byte !== 0) || byte === 127) controls++;
  }
  const share = controls / bytes.length;
  const utf8 = utf8Of(bytes) !== undefined;
  const certain = share > (utf8 ? CONTROLS_MAX_UTF8 : CONTROLS_MAX);
  return { certain, clean: utf8 && controls === 0 && bytes.indexOf(0) < 0 };
}

/** BEL, BS, HT, LF, VT, FF, CR and ESC. */
const SHOWN_CONTROLS = new Set([7, 8, 9, 10, 11, 12, 13, 27]);

/** Returns a whole output as a terminal shows it. */
export function shownOf(bytes: Uint8Array): string {
  const output = new ShownOutput(bytes.length * 4 + BETWEEN_MAX, 0);
  output.push(bytes);
  return output.text();
}
