/** Small images and documents for tests, made without a library for them. */
import { crc32 } from "node:zlib";

const encoder = new TextEncoder();

/** A PNG with the given header, and always the picture of one red pixel. */
export function tinyPng(
  { width = 1, height = 1, bytes = 0 }: { width?: number; height?: number; bytes?: number } = {},
): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 2, 0, 0, 0], 8);
  const picture = Uint8Array.fromHex("789c63f8cfc0000003010100");
  const parts = [
    Uint8Array.fromHex("89504e470d0a1a0a"),
    chunk("IHDR", header),
    chunk("IDAT", picture),
  ];
  const end = chunk("IEND", new Uint8Array());
  const size = [...parts, end].reduce((sum, { length }) => sum + length, 0);
  if (bytes > size + 12) parts.push(chunk("tEXt", new Uint8Array(bytes - size - 12)));
  return joined([...parts, end]);
}

function chunk(type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const body = joined([encoder.encode(type), data]);
  const framed = new Uint8Array(body.length + 8);
  const view = new DataView(framed.buffer);
  view.setUint32(0, data.length);
  framed.set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  return framed;
}

/** The beginning of a JPEG, with its frame header behind another segment. */
export function tinyJpeg({ width = 1, height = 1 } = {}): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.fromHex(
    "ffd8ffe000104a46494600010100000100010000ffc0000b08000000000101110000ffd9",
  );
  const view = new DataView(bytes.buffer);
  view.setUint16(25, height);
  view.setUint16(27, width);
  return bytes;
}

/** A GIF of one pixel. */
export function tinyGif(): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromHex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b",
  );
}

/** A lossless WebP of one pixel. */
export function tinyWebp(): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromHex("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700");
}

/** A PDF of one empty page. */
export function tinyPdf(): Uint8Array<ArrayBuffer> {
  return encoder.encode(
    "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n" +
      "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
      "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n",
  );
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
