/** The encodings of text files: read as text, written back as they were. */

/** A file's text, without its byte order mark. */
export interface DecodedText {
  text: string;
  /**
   * The bytes of another text in the same encoding, with the byte order mark the file had.
   *
   * @throws {RangeError} when a character has no place in it
   */
  encode(text: string): Uint8Array<ArrayBuffer>;
}

const UTF8_BOM = [0xef, 0xbb, 0xbf];
const UTF16LE_BOM = [0xff, 0xfe];
const UTF16BE_BOM = [0xfe, 0xff];

/** Whether a file begins as UTF-16 does. */
export function isUtf16(start: Uint8Array): boolean {
  return begins(start, UTF16LE_BOM) || begins(start, UTF16BE_BOM);
}

/**
 * Decodes a text file: UTF-8, UTF-16 with its byte order mark, and else Windows-1252, which holds
 * Latin-1 and gives every byte a character.
 *
 * @returns `undefined` for UTF-16 that is damaged
 */
export function decodeText(data: Uint8Array<ArrayBuffer>): DecodedText | undefined {
  if (isUtf16(data)) return decodeUtf16(data, begins(data, UTF16LE_BOM));
  const bom = begins(data, UTF8_BOM) ? UTF8_BOM : [];
  const body = data.subarray(bom.length);
  const utf8 = tryUtf8(body);
  if (utf8 !== undefined) {
    return { text: utf8, encode: (text) => joined(bom, new TextEncoder().encode(text)) };
  }
  return { text: windows1252(data), encode: encodeWindows1252 };
}

/**
 * A line as text: UTF-8, or Windows-1252 where it is not UTF-8.
 *
 * @param cut whether the last character may be incomplete; it is left out then
 */
export function decodeLine(bytes: Uint8Array<ArrayBuffer>, cut: boolean): string {
  return tryUtf8(bytes, cut) ?? windows1252(bytes);
}

function tryUtf8(bytes: Uint8Array<ArrayBuffer>, cut = false): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: cut,
    });
  } catch {
    return undefined;
  }
}

function windows1252(bytes: Uint8Array<ArrayBuffer>): string {
  return new TextDecoder("windows-1252").decode(bytes);
}

function encodeWindows1252(text: string): Uint8Array<ArrayBuffer> {
  const all = windows1252(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  const bytes = new Map(Array.from(all, (char, byte) => [char, byte]));
  return Uint8Array.from(text, (char) => {
    const byte = bytes.get(char);
    if (byte === undefined) {
      throw new RangeError(`"${char}" has no place in its encoding, which is Latin-1`);
    }
    return byte;
  });
}

function decodeUtf16(
  data: Uint8Array<ArrayBuffer>,
  little_endian: boolean,
): DecodedText | undefined {
  if (data.length % 2 !== 0) return undefined;
  const label = little_endian ? "utf-16le" : "utf-16be";
  let text: string;
  try {
    text = new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(data.subarray(2));
  } catch {
    return undefined;
  }
  return {
    text,
    encode(other) {
      const bytes = new Uint8Array(2 + other.length * 2);
      const view = new DataView(bytes.buffer);
      view.setUint16(0, 0xfeff, little_endian);
      for (let n = 0; n < other.length; n++) {
        view.setUint16(2 + n * 2, other.charCodeAt(n), little_endian);
      }
      return bytes;
    },
  };
}

function begins(data: Uint8Array, bytes: readonly number[]): boolean {
  return bytes.every((byte, n) => data[n] === byte);
}

function joined(
  start: readonly number[],
  data: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  if (start.length === 0) return data;
  const all = new Uint8Array(start.length + data.length);
  all.set(start);
  all.set(data, start.length);
  return all;
}
