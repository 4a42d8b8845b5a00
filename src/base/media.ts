/**
 * Recognizes images and PDF documents by their first bytes. Nothing is decoded: sizes come from
 * headers, so a small file with a huge picture costs nothing.
 */
import {
  ATTACHED_BYTES_MAX,
  IMAGE_BYTES_MAX,
  IMAGE_SIDE_MAX,
  kindOf,
  type MediaType,
  sizeText,
} from "../protocol/attachments.ts";

export interface Media {
  media_type: MediaType;
  name: string;
  data: Uint8Array<ArrayBuffer>;
}

export interface MediaHead {
  media_type: MediaType;
  /** Pixels of an image; absent if the header is beyond the given bytes. */
  width?: number;
  height?: number;
}

/** Recognizes a file by its start, about 64 kB. @returns undefined for others */
export function mediaHead(start: Uint8Array): MediaHead | undefined {
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  if (has(start, 0, "%PDF-")) return { media_type: "application/pdf" };
  if (has(start, 0, "\x89PNG\r\n\x1a\n") && has(start, 12, "IHDR") && start.length >= 24) {
    return { media_type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
  }
  // Text may begin with these letters, but has no NUL.
  if ((has(start, 0, "GIF87a") || has(start, 0, "GIF89a")) && start.includes(0)) {
    if (start.length < 10) return undefined;
    const [width, height] = [view.getUint16(6, true), view.getUint16(8, true)];
    return { media_type: "image/gif", width, height };
  }
  if (has(start, 0, "RIFF") && has(start, 8, "WEBP") && start.length >= 30) {
    return { media_type: "image/webp", ...webpSize(start, view) };
  }
  if (has(start, 0, "\xff\xd8\xff")) return { media_type: "image/jpeg", ...jpegSize(view) };
  return undefined;
}

/** Returns why a model cannot get a file: too large for providers, or a bad header. */
export function mediaProblem(head: MediaHead, bytes: number): string | undefined {
  const { media_type, width = 1, height = 1 } = head;
  const max = media_type === "application/pdf" ? ATTACHED_BYTES_MAX : IMAGE_BYTES_MAX;
  if (bytes > max) {
    const kind = media_type === "application/pdf" ? "a PDF" : "an image";
    return `is ${kind} of ${sizeText(bytes)}; a model can be given at most ${sizeText(max)}`;
  }
  if (width === 0 || height === 0) return `is a damaged ${kindOf(head)}: it has no size`;
  if (width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX) {
    return `is an image of ${width} × ${height} pixels; a model can be given at most ` +
      `${IMAGE_SIDE_MAX} in each direction`;
  }
  return undefined;
}

/** Decodes base64. @returns undefined unless it has the usual alphabet and padding */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  // The decoder skips whitespace.
  if (text.length % 4 !== 0 || /[^A-Za-z0-9+/=]/.test(text)) return undefined;
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}

function has(bytes: Uint8Array, at: number, signature: string): boolean {
  if (bytes.length < at + signature.length) return false;
  for (let n = 0; n < signature.length; n++) {
    if (bytes[at + n] !== signature.charCodeAt(n)) return false;
  }
  return true;
}

interface Size {
  width?: number;
  height?: number;
}

function webpSize(bytes: Uint8Array, view: DataView): Size {
  if (has(bytes, 12, "VP8X")) {
    const size = (at: number) => 1 + view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_0000;
    return { width: size(24), height: size(27) };
  }
  if (has(bytes, 12, "VP8L")) {
    const bits = view.getUint32(21, true);
    return { width: 1 + (bits & 0x3fff), height: 1 + (bits >>> 14 & 0x3fff) };
  }
  return {
    width: view.getUint16(26, true) & 0x3fff,
    height: view.getUint16(28, true) & 0x3fff,
  };
}

/** Finds the frame header among the segments. */
function jpegSize(view: DataView): Size {
  let at = 2;
  while (at + 9 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return {};
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    // SOF0 to SOF15 without the tables DHT, JPG and DAC.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    }
    // Image data, or a marker without a length.
    if (marker === 0xda || marker === 0xd9) return {};
    at += marker === 0x01 || marker >= 0xd0 && marker <= 0xd8 ? 2 : 2 + view.getUint16(at + 2);
  }
  return {};
}
