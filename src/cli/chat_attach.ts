/** The files of `svc chat -p --attach`. */
import { mediaHead, mediaProblem } from "../base/media.ts";
import {
  ATTACHED_BYTES_MAX,
  ATTACHED_MAX,
  attachmentName,
  type MediaType,
  sizeText,
} from "../protocol/attachments.ts";
import { messageOf } from "../protocol/errors.ts";
import { UsageError } from "./define.ts";

/** An attachment as `session.send` takes it. */
export interface AttachedFile {
  data: string;
  media_type: MediaType;
  name: string;
}

/** Reads the files. @throws {UsageError} for one that no model accepts */
export function readAttachments(paths: readonly string[]): AttachedFile[] {
  if (paths.length > ATTACHED_MAX) {
    throw new UsageError(`a message takes at most ${ATTACHED_MAX} files, not ${paths.length}`);
  }
  let bytes = 0;
  return paths.map((path) => {
    const { media_type, data } = readMedia(path);
    bytes += data.length;
    if (bytes > ATTACHED_BYTES_MAX) {
      throw new UsageError(`the files have more than ${sizeText(ATTACHED_BYTES_MAX)} together`);
    }
    return { data: data.toBase64(), media_type, name: attachmentName(path, "file") };
  });
}

function readMedia(path: string): ReadMedia {
  const read = mediaAt(path);
  if (typeof read === "string") throw new UsageError(`--attach ${path}: ${read}`);
  return read;
}

/** An image or document, with its checked type. */
export interface ReadMedia {
  media_type: MediaType;
  data: Uint8Array;
}

/** Reads an image or document. @returns what is wrong with the file, if no model accepts it */
export function mediaAt(path: string): ReadMedia | string {
  try {
    const { isFile, size } = Deno.statSync(path);
    // Opening a pipe would wait for a writer.
    if (!isFile) return "is not a regular file";
    if (size > ATTACHED_BYTES_MAX) {
      return `has ${sizeText(size)}; a model can be given ${sizeText(ATTACHED_BYTES_MAX)}`;
    }
    return mediaOf(Deno.readFileSync(path));
  } catch (error) {
    return messageOf(error);
  }
}

/** Checks the bytes of an image or document. @returns as {@linkcode mediaAt} */
export function mediaOf(data: Uint8Array): ReadMedia | string {
  const head = mediaHead(data);
  if (head === undefined) return "is not a PNG, JPEG, GIF or WebP image and not a PDF";
  const problem = mediaProblem(head, data.length);
  return problem ?? { media_type: head.media_type, data };
}
