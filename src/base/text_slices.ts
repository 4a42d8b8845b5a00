/** Characters that are encoded at once: a large text has no second copy of itself in bytes. */
export const SLICE = 1024 * 1024;

/** Cuts a text into parts of at most {@linkcode SLICE} characters, and none in the middle of one. */
export function* slices(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    let end = start + SLICE;
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end--;
    yield text.slice(start, end);
    start = end;
  }
}

/** A body that is encoded while it is read, where it is large. */
export function bodyOf(text: string): BodyInit {
  if (text.length <= SLICE) return text;
  const encoder = new TextEncoder();
  const parts = slices(text);
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const { value, done } = parts.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  }, { highWaterMark: 1 });
}
