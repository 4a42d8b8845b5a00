/** A text, maybe in parts: joining a large one would copy it. */
export type Text = string | readonly string[];

/** Characters to encode at once, so that a large text has no copy in bytes. */
export const SLICE = 1024 * 1024;

/** Number of characters. */
export function sizeOf(text: Text): number {
  return typeof text === "string" ? text.length : text.reduce((sum, it) => sum + it.length, 0);
}

export function joined(text: Text): string {
  return typeof text === "string" ? text : text.join("");
}

/** Cuts a text into pieces without splitting surrogate pairs. */
export function* slices(text: Text, size = SLICE): Generator<string> {
  let rest = "";
  for (const part of typeof text === "string" ? [text] : text) {
    if (rest.length + part.length <= size) {
      rest += part;
      continue;
    }
    if (rest !== "") yield rest;
    let start = 0;
    while (part.length - start > size) {
      let end = start + size;
      const last = part.charCodeAt(end - 1);
      if (last >= 0xd800 && last < 0xdc00) end--;
      yield part.slice(start, end);
      start = end;
    }
    rest = part.slice(start);
  }
  if (rest !== "") yield rest;
}

/** A body that is encoded while it is read, if large. */
export function bodyOf(text: Text): BodyInit {
  return bodyRead(text).body;
}

/** As {@linkcode bodyOf}; `read` resolves when it is read or abandoned. @param cut ends it early */
export function bodyRead(
  text: Text,
  cut?: AbortSignal,
): { body: BodyInit; read: Promise<void> } {
  if (sizeOf(text) <= SLICE) return { body: joined(text), read: Promise.resolve() };
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
