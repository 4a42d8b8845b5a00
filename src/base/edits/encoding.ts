/** Encodings of text files: decoded for edits, encoded back unchanged. */
import { lazy } from "../lazy.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A file's text without its byte order mark. */
export interface DecodedText {
  text: string;
  /** For people. */
  encoding: string;
  /** Encodes another text, with the file's byte order mark. @throws {RangeError} if it cannot */
  encode(text: string): Bytes;
}

const UTF8_BOM = [0xef, 0xbb, 0xbf];
const UTF16LE_BOM = [0xff, 0xfe];
const UTF16BE_BOM = [0xfe, 0xff];
/** Bytes at the start of a file that determine its encoding. */
const PROBE_BYTES = 256 * 1024;

/** Whether a file begins like UTF-16, with or without a byte order mark. */
export function isUtf16(start: Uint8Array): boolean {
  return utf16Of(start) !== undefined;
}

/**
 * Decodes a text file: UTF-8, UTF-16, Shift-JIS or GBK if clear, otherwise Windows-1252, which
 * accepts every byte. Returns undefined for damaged UTF-16.
 */
export function decodeText(data: Bytes): DecodedText | undefined {
  const utf16 = utf16Of(data);
  if (utf16 !== undefined) return decodeUtf16(data, utf16);
  const bom = begins(data, UTF8_BOM) ? UTF8_BOM : [];
  const utf8 = tryUtf8(data.subarray(bom.length));
  if (utf8 !== undefined) {
    return {
      text: utf8,
      encoding: bom.length === 0 ? "UTF-8" : "UTF-8 with a byte order mark",
      encode: (text) => joined(bom, new TextEncoder().encode(text)),
    };
  }
  return decodeAs(legacyOf(data), data) ?? decodeAs(LATIN1, data);
}

/**
 * Returns a decoder for single lines: UTF-8, or the older encoding of the file. `cut` drops an
 * incomplete last character.
 *
 * @param start the first bytes of the file
 */
export function lineDecoder(start: Uint8Array): (line: Bytes, cut?: boolean) => string {
  const legacy = lazy(() => legacyOf(start));
  return (line, cut = false) =>
    tryUtf8(line, cut) ?? new TextDecoder(legacy().label).decode(line, { stream: cut });
}

/** Decodes a whole file line by line for display; undefined for damaged UTF-16. */
export function shownText(data: Bytes): string | undefined {
  if (isUtf16(data)) return decodeText(data)?.text;
  const utf8 = tryUtf8(data);
  if (utf8 !== undefined) return utf8.replace(/^\ufeff/, "");
  const decode = lineDecoder(data);
  let text = "";
  for (let at = 0; at < data.length;) {
    const newline = data.indexOf(10, at);
    const end = newline < 0 ? data.length : newline + 1;
    text += decode(data.subarray(at, end));
    at = end;
  }
  return text;
}

/** Gives a text the more frequent line ends of another one; LF by default. */
export function withLineEndsOf(text: string, other: string): string {
  const crlf = text.split("\r\n").length - 1;
  const lf = text.split("\n").length - 1 - crlf;
  return crlf > lf ? other.replace(/\r?\n/g, "\r\n") : other;
}

function tryUtf8(bytes: Bytes, cut = false): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: cut,
    });
  } catch {
    return undefined;
  }
}

/** An encoding with one or two bytes per character. */
interface Legacy {
  name: string;
  label: string;
  /** The bytes of each character. */
  table(): Map<string, readonly number[]>;
}

const LATIN1 = legacy("Latin-1", "windows-1252", []);
const SHIFT_JIS = legacy("Shift-JIS", "shift_jis", [[0x81, 0x9f], [0xe0, 0xec], [0xef, 0xfc]]);
const GBK = legacy("GBK", "gbk", [[0x81, 0xfe]]);

function legacy(name: string, label: string, leads: readonly [number, number][]): Legacy {
  return {
    name,
    label,
    table: lazy(() => {
      const decoder = new TextDecoder(label);
      const table = new Map<string, readonly number[]>();
      const add = (...bytes: number[]) => {
        const char = decoder.decode(Uint8Array.from(bytes));
        const one = [...char].length === 1 && char !== "\ufffd";
        if (one && !table.has(char)) table.set(char, bytes);
      };
      for (let byte = 0; byte < 256; byte++) add(byte);
      for (const [from, to] of leads) {
        for (let lead = from; lead <= to; lead++) {
          for (let trail = 0x40; trail <= 0xfe; trail++) add(lead, trail);
        }
      }
      return table;
    }),
  };
}

/** @returns undefined if encoding again would change the bytes */
function decodeAs({ name, label, table }: Legacy, data: Bytes): DecodedText | undefined {
  const text = new TextDecoder(label).decode(data);
  const encode = (other: string) => {
    // A UTF-16 unit takes at most two bytes.
    const bytes = new Uint8Array(other.length * 2);
    let length = 0;
    for (const char of other) {
      const found = table().get(char);
      if (found === undefined) {
        throw new RangeError(`"${char}" has no place in its encoding, which is ${name}`);
      }
      for (const byte of found) bytes[length++] = byte;
    }
    return bytes.slice(0, length);
  };
  try {
    const again = encode(text);
    const same = again.length === data.length && again.every((byte, n) => byte === data[n]);
    return same ? { text, encoding: name, encode } : undefined;
  } catch {
    return undefined;
  }
}

/** Guesses the encoding of a text that is not UTF-8. */
function legacyOf(data: Uint8Array): Legacy {
  const start = data.subarray(0, PROBE_BYTES);
  if (isShiftJis(start)) return SHIFT_JIS;
  return isGbk(start) ? GBK : LATIN1;
}

/** Whether all bytes are Shift-JIS, with many kana, as in any Japanese text. */
function isShiftJis(bytes: Uint8Array): boolean {
  let [pairs, kana, narrow] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const lead = bytes[at];
    if (lead < 0x80) continue;
    if (lead >= 0xa1 && lead <= 0xdf) {
      narrow++;
      continue;
    }
    const trail = bytes[++at];
    // The probe may end within a character.
    if (trail === undefined) break;
    if (lead === 0x80 || lead === 0xa0 || lead > 0xfc) return false;
    if (trail < 0x40 || trail === 0x7f || trail > 0xfc) return false;
    pairs++;
    if ((lead === 0x82 && trail >= 0x9f) || (lead === 0x83 && trail <= 0x96)) kana++;
  }
  return pairs > 0 && kana >= pairs / 5 && narrow <= pairs / 5;
}

/** Whether all bytes are GBK, nearly all of them common characters in runs. */
function isGbk(bytes: Uint8Array): boolean {
  let [pairs, common, in_runs, run] = [0, 0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const lead = bytes[at];
    if (lead < 0x80) {
      run = 0;
      continue;
    }
    const trail = bytes[++at];
    if (trail === undefined) break;
    if (lead === 0x80 || lead === 0xff || trail < 0x40 || trail === 0x7f || trail === 0xff) {
      return false;
    }
    pairs++;
    run++;
    if (run > 1) in_runs += run === 2 ? 2 : 1;
    const frequent = (lead >= 0xb0 && lead <= 0xd7) || (lead >= 0xa1 && lead <= 0xa3);
    if (frequent && trail >= 0xa1) common++;
  }
  return pairs > 1 && common >= pairs * 0.9 && in_runs >= pairs * 0.7;
}

interface Utf16 {
  little_endian: boolean;
  /** Whether it has a byte order mark. */
  marked: boolean;
}

/** Shares of zero bytes in UTF-16: at least in one half of the pairs, at most in the other. */
const ZEROS_MIN = 0.4;
const ZEROS_MAX = 0.02;
const UNMARKED_PROBE_BYTES = 8 * 1024;

function utf16Of(data: Uint8Array): Utf16 | undefined {
  if (begins(data, UTF16LE_BOM)) return { little_endian: true, marked: true };
  if (begins(data, UTF16BE_BOM)) return { little_endian: false, marked: true };
  const units = Math.min(data.length, UNMARKED_PROBE_BYTES) >> 1;
  if (units < 2 || (data.length < UNMARKED_PROBE_BYTES && data.length % 2 !== 0)) return undefined;
  const zeros = [0, 0];
  for (let unit = 0; unit < units; unit++) {
    const [first, second] = [data[unit * 2], data[unit * 2 + 1]];
    if (first === 0) zeros[0]++;
    if (second === 0) zeros[1]++;
    const code = second === 0 ? first : first === 0 ? second : 0x20;
    // Texts lack these characters, most binary formats have them.
    if (code < 0x20 && !/[\t\n\f\r]/.test(String.fromCharCode(code))) return undefined;
  }
  const mostly = (n: number) => zeros[n] > units * ZEROS_MIN && zeros[1 - n] <= units * ZEROS_MAX;
  if (mostly(1)) return { little_endian: true, marked: false };
  return mostly(0) ? { little_endian: false, marked: false } : undefined;
}

function decodeUtf16(data: Bytes, { little_endian, marked }: Utf16): DecodedText | undefined {
  if (data.length % 2 !== 0) return undefined;
  const label = little_endian ? "utf-16le" : "utf-16be";
  const head = marked ? 2 : 0;
  let text: string;
  try {
    text = new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(data.subarray(head));
  } catch {
    return undefined;
  }
  return {
    text,
    encoding: "UTF-16",
    encode(other) {
      const bytes = new Uint8Array(head + other.length * 2);
      const view = new DataView(bytes.buffer);
      if (marked) view.setUint16(0, 0xfeff, little_endian);
      for (let n = 0; n < other.length; n++) {
        view.setUint16(head + n * 2, other.charCodeAt(n), little_endian);
      }
      return bytes;
    },
  };
}

function begins(data: Uint8Array, bytes: readonly number[]): boolean {
  return bytes.every((byte, n) => data[n] === byte);
}

function joined(start: readonly number[], data: Bytes): Bytes {
  if (start.length === 0) return data;
  const all = new Uint8Array(start.length + data.length);
  all.set(start);
  all.set(data, start.length);
  return all;
}
