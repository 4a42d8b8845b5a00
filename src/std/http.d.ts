/** The part of `@std/http` that is used here. */
export interface ServerSentEventMessage {
  comment?: string;
  event?: string;
  data?: string;
  id?: string | number;
  retry?: number;
}
export class ServerSentEventStream extends TransformStream<ServerSentEventMessage, Uint8Array> {}
export class ServerSentEventParseStream extends TransformStream<string, ServerSentEventMessage> {}
export function eTag(
  entity: string | Uint8Array | Deno.FileInfo,
  options?: { weak?: boolean },
): Promise<string | undefined>;
export function ifNoneMatch(value: string | null, etag: string | undefined): boolean;
export function acceptsEncodings(
  request: Pick<Request, "headers">,
  ...encodings: string[]
): string | undefined;
