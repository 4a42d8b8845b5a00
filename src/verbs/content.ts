/** Files as results of verbs. */
import { BASE_HEADERS } from "../net/answers.ts";
import type { Calling } from "./call.ts";
import { Prepared } from "./define.ts";

/** A verb's facts about a file. */
// fields-ok: of any file; an artifact has these and more
interface About {
  name: string;
  media_type: string;
  /** Bytes. */
  size: number;
  sha256: string;
}

/** Doors that answer JSON return the facts; others open the file. */
export class Content<T extends About = About> extends Prepared<T> {
  /** The caller ends the stream. @throws {SvcError} not_found when the file is missing */
  readonly open: () => Promise<ReadableStream<Uint8Array>>;

  constructor(about: T, open: Content["open"]) {
    super(about);
    this.open = open;
  }
}

/** Runs a verb that returns a file. @throws {SvcError} any error of the verb */
export async function contentOf(
  name: string,
  params: unknown,
  { dispatcher, caller, call }: Calling,
): Promise<Content> {
  const result = await dispatcher.run(dispatcher.verbs.get(name)!, params, caller, call);
  if (result instanceof Content) return result;
  throw new Error(`${name} gives no file`);
}

/** Returns the response with a file; does not open it for HEAD. @throws {SvcError} not_found */
export async function contentResponse(content: Content, method: string): Promise<Response> {
  const { name, media_type, size, sha256 } = content.value;
  return new Response(method === "HEAD" ? null : await content.open(), {
    headers: {
      ...BASE_HEADERS,
      "accept-ranges": "none",
      "content-type": media_type,
      "content-length": String(size),
      // No browser may show a task's output as a page of this origin.
      "content-disposition": `attachment; filename="${name}"`,
      "content-security-policy": "default-src 'none'; sandbox",
      "etag": `"${sha256}"`,
    },
  });
}
