/** The part of `@std/streams` that is used here. */
export function toText(stream: ReadableStream<Uint8Array | string>): Promise<string>;
export function mergeReadableStreams<T>(...streams: ReadableStream<T>[]): ReadableStream<T>;
export class TextLineStream extends TransformStream<string, string> {
  constructor(options?: { allowCR?: boolean });
}
