/** Characters that are encoded at once: a large text has no second copy of itself in bytes. */
export const SLICE = 1024 * 1024;

/** Cuts a text into parts of at most so many characters, and none in the middle of one. */
export function* slices(text: string, size = SLICE): Generator<string> {
  for (let start = 0; start < text.length;) {
    let end = start + size;
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end--;
    yield text.slice(start, end);
    start = end;
  }
}

/** A body that is encoded while it is read, where it is large. */
export function bodyOf(text: string): BodyInit {
  return bodyRead(text).body;
}

/**
 * As {@linkcode bodyOf}, and when a large one was read, or never will be.
 *
 * @param cut ends it before that
 */
export function bodyRead(
  text: string,
  cut?: AbortSignal,
): { body: BodyInit; read: Promise<void> } {
  if (text.length <= SLICE) return { body: text, read: Promise.resolve() };
  const encoder = new TextEncoder();
  const parts = slices(text);
  const { promise: read, resolve } = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      cut?.addEventListener("abort", () => {
        controller.error(cut.reason);
        resolve();
      });
    },
    pull(controller) {
      const { value, done } = parts.next();
      if (!done) return controller.enqueue(encoder.encode(value));
      controller.close();
      resolve();
    },
    cancel: () => resolve(),
  }, { highWaterMark: 1 });
  return { body, read };
}
