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

function readMedia(path: string): { media_type: MediaType; data: Uint8Array } {
  const refuse = (problem: string) => new UsageError(`--attach ${path}: ${problem}`);
  let data: Uint8Array;
  try {
    const { isFile, size } = Deno.statSync(path);
    // Opening a pipe would wait for a writer.
    if (!isFile) throw refuse("is not a regular file");
    if (size > ATTACHED_BYTES_MAX) {
      throw refuse(`has ${sizeText(size)}; a model can be given ${sizeText(ATTACHED_BYTES_MAX)}`);
    }
    data = Deno.readFileSync(path);
  } catch (error) {
    throw error instanceof UsageError ? error : refuse(messageOf(error));
  }
  const head = mediaHead(data);
  if (head === undefined) throw refuse("is not a PNG, JPEG, GIF or WebP image and not a PDF");
  const problem = mediaProblem(head, data.length);
  if (problem !== undefined) throw refuse(problem);
  return { media_type: head.media_type, data };
}
