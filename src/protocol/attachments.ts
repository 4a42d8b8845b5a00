/**
 * Images and PDF documents of a conversation. Events and messages carry references to files beside
 * the journal. Must import nothing: the web app uses it.
 */

export const MEDIA_TYPES = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "application/pdf",
] as const;

export type MediaType = typeof MEDIA_TYPES[number];

/** The reference to an image or document in an event. */
export interface Attachment {
  /** SHA-256 of the bytes, hexadecimal. */
  hash: string;
  media_type: MediaType;
  /** A file name without directories. */
  name: string;
  bytes: number;
}

/** Anthropic refuses images with more than 5 MiB of base64, the lowest limit of known providers. */
export const IMAGE_BYTES_MAX = 5 * 1024 * 1024 / 4 * 3;
/** Pixels of an image in one direction: Anthropic refuses larger ones. */
export const IMAGE_SIDE_MAX = 8_000;
/** Bytes of one message's attachments: in base64 they fit into one message to the daemon. */
export const ATTACHED_BYTES_MAX = 5_500_000;
/** Per message and per request. Above 20 images Anthropic accepts only 2,000 pixels a side. */
export const ATTACHED_MAX = 20;
/** Bytes of attachments per request: in base64 below Google's 20 MB. */
export const REQUEST_BYTES_MAX = 14_000_000;

const NAME_MAX = 100;

/** Returns the last part of a path or name, without invisible characters. */
export function attachmentName(name: string, fallback: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const clean = last.replace(/[\p{C}\p{Z}[\]]+/gu, " ").trim().slice(0, NAME_MAX);
  return clean.replace(/[\uD800-\uDBFF]$/, "") || fallback;
}

export function kindOf({ media_type }: Pick<Attachment, "media_type">): "image" | "PDF" {
  return media_type === "application/pdf" ? "PDF" : "image";
}

/** Returns the line for an attachment: `[image: shot.png, 120 kB]`. */
export function attachmentLine(attachment: Omit<Attachment, "hash">, note?: string): string {
  const { name, bytes } = attachment;
  const rest = note === undefined ? "" : `; ${note}`;
  return `[${kindOf(attachment)}: ${name}, ${sizeText(bytes)}${rest}]`;
}

/** Returns a message with a line for each attachment. */
export function messageLines(text: string, attachments: readonly Attachment[] = []): string {
  return [text, ...attachments.map((it) => attachmentLine(it))].join("\n");
}

/** Returns a size in decimal units. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 999_500) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
