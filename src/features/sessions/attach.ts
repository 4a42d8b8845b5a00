/** Attachments of messages. */
import type * as z from "zod";
import { fromBase64, type Media, mediaHead, mediaProblem } from "../../base/media.ts";
import {
  ATTACHED_BYTES_MAX,
  ATTACHED_MAX,
  type Attachment,
  attachmentName,
  sizeText,
} from "../../protocol/attachments.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import type { SessionServices } from "./verbs.ts";
import type { attachedSchema } from "./schemas.ts";

/** A path, or the content with its type. */
export type Attached = z.output<ReturnType<typeof attachedSchema>>;

/**
 * Checks and stores a message's attachments; stores nothing on an error.
 * @throws {SvcError} validation, naming the attachment; permission_denied for a path in an
 * untrusted session
 */
export async function keepAttachments(
  services: SessionServices,
  session: Session,
  attached: readonly Attached[],
  signal: AbortSignal,
): Promise<Attachment[]> {
  if (attached.length > ATTACHED_MAX) {
    throw new SvcError(
      "validation",
      `a message takes at most ${ATTACHED_MAX} attachments, not ${attached.length}`,
    );
  }
  const media: Media[] = [];
  let bytes = 0;
  for (const [n, each] of attached.entries()) {
    const { path, data, media_type, name } = each;
    const whole = path === undefined ? data !== undefined : !(data ?? media_type ?? name);
    if (!whole) {
      throw new SvcError(
        "validation",
        `attachment ${n + 1}: either path or data is required; media_type and name belong to data`,
      );
    }
    const one = path === undefined
      ? ofData(each, n)
      : await ofPath(services, session, path, signal);
    bytes += one.data.length;
    if (bytes > ATTACHED_BYTES_MAX) {
      throw new SvcError(
        "validation",
        `the attachments have more than ${sizeText(ATTACHED_BYTES_MAX)}, the most for one message`,
        { hint: "send smaller files, or one after the other" },
      );
    }
    media.push(one);
  }
  const store = await session.attachments();
  try {
    return await Promise.all(media.map((each) => store.put(each)));
  } catch (cause) {
    throw new SvcError("internal", "cannot keep the attachments", {
      hint: "free disk space, or repair the session's directory; nothing was sent",
      cause,
    });
  }
}

function ofData({ data = "", media_type, name }: Attached, n: number): Media {
  const named = attachmentName(name ?? "", `attachment-${n + 1}`);
  const refuse = (problem: string) => new SvcError("validation", `attachment ${named}: ${problem}`);
  const bytes = fromBase64(data);
  if (bytes === undefined) throw refuse("the data is not valid base64");
  const head = mediaHead(bytes);
  if (head === undefined) {
    throw refuse("is not a PNG, JPEG, GIF or WebP image and not a PDF");
  }
  if (media_type !== undefined && media_type !== head.media_type) {
    throw refuse(`is ${head.media_type}, not ${media_type}`);
  }
  const problem = mediaProblem(head, bytes.length);
  if (problem !== undefined) throw refuse(problem);
  return { media_type: head.media_type, name: named, data: bytes };
}

/** Reads a file like the session's tools. */
async function ofPath(
  { units, hidden }: SessionServices,
  session: Session,
  path: string,
  signal: AbortSignal,
): Promise<Media> {
  const { trust, workdir } = session.state;
  if (trust !== "trusted") {
    throw new SvcError("permission_denied", `${path}: this session works for others`, {
      hint: "send the content of the file as data",
    });
  }
  const scope = { session_id: session.id, workdir, hidden: hidden(session) };
  const { ok, output, media } = await (await units()).call("read_file", { path }, scope, signal);
  if (!ok) throw new SvcError("validation", `attachment ${output}`);
  if (media?.length !== 1) {
    throw new SvcError(
      "validation",
      `attachment ${path}: is not a PNG, JPEG, GIF or WebP image and not a PDF`,
    );
  }
  return media[0];
}

/** Reads a stored attachment. @throws {SvcError} not_found when it is missing or damaged. */
export async function readAttachment(session: Session, hash: string) {
  const data = (await session.attachments()).find(hash, ATTACHED_BYTES_MAX);
  const head = data && mediaHead(data);
  if (data === undefined || head === undefined) {
    throw new SvcError("not_found", `session ${session.id} has no attachment ${hash}`, {
      hint: "its file is missing or damaged",
    });
  }
  return { media_type: head.media_type, bytes: data.length, data: data.toBase64() };
}
