/**
 * Joins the pieces of a model's text that arrived in one network read. A fast provider sends dozens
 * in one packet. The provider package would parse and validate each, which takes longer than all of
 * svc's own work on the text.
 */

const NEWLINE = 0x0a;
/** Two events can be joined if only their text differs, in either format. */
const PIECE =
  /^((?:event: ?content_block_delta\n)?data: ?\{[^\n]*?"delta": ?\{(?:"type": ?"(?:text|thinking|input_json)_delta", ?)?"(?:content|text|thinking|partial_json)": ?")((?:[^"\\\n]|\\.)*)("\}[^\n]*)$/;
const LITERAL = /^(?:[^"\\\n]|\\.)*$/;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Joins events within each chunk of an event stream; incomplete events pass unchanged. */
export class TextJoiner {
  /** Whether the next chunk begins with an event. */
  #at_event = true;

  /** Returns the chunk with fewer events, or the chunk itself. */
  join(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const begin = this.#at_event ? 0 : afterEvent(chunk);
    const end = afterLastEvent(chunk);
    this.#at_event = end === chunk.length && (end > 0 || this.#at_event);
    if (begin === undefined || end <= begin) return chunk;
    const events = eventsOf(chunk.subarray(begin, end));
    if (events === undefined) return chunk;
    const joined = joinEvents(events);
    if (joined.length === events.length) return chunk;
    const bytes = encoder.encode(joined.map((event) => `${event}\n\n`).join(""));
    const all = new Uint8Array(begin + bytes.length + chunk.length - end);
    all.set(chunk.subarray(0, begin));
    all.set(bytes, begin);
    all.set(chunk.subarray(end), begin + bytes.length);
    return all;
  }
}

/** The offset after the first end of an event. */
function afterEvent(chunk: Uint8Array): number | undefined {
  for (let at = 0; (at = chunk.indexOf(NEWLINE, at)) >= 0; at++) {
    if (chunk[at + 1] === NEWLINE) return at + 2;
  }
  return undefined;
}

/** The offset after the last end of an event, or 0. */
function afterLastEvent(chunk: Uint8Array): number {
  for (let at = chunk.length; (at = chunk.lastIndexOf(NEWLINE, at - 1)) > 0;) {
    if (chunk[at - 1] === NEWLINE) return at + 1;
  }
  return 0;
}

/** Splits complete events; undefined if they cannot be joined. */
function eventsOf(bytes: Uint8Array): string[] | undefined {
  try {
    const text = decoder.decode(bytes);
    if (text.includes("\r")) return undefined;
    const events = text.split("\n\n");
    events.pop();
    return events.length > 1 ? events : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Joins neighbours that differ only in their text. JSON strings can be concatenated as they are.
 */
function joinEvents(events: readonly string[]): string[] {
  const joined: string[] = [];
  let run: { before: string; text: string; after: string } | undefined;
  for (const event of events) {
    const text = run && textBetween(event, run.before, run.after);
    if (run !== undefined && text !== undefined) {
      run.text += text;
      joined[joined.length - 1] = run.before + run.text + run.after;
      continue;
    }
    const [, before, found, after] = PIECE.exec(event) ?? [];
    run = before === undefined ? undefined : { before, text: found, after };
    joined.push(event);
  }
  return joined;
}

function textBetween(event: string, before: string, after: string): string | undefined {
  if (event.length < before.length + after.length) return undefined;
  if (!event.startsWith(before) || !event.endsWith(after)) return undefined;
  const text = event.slice(before.length, event.length - after.length);
  return LITERAL.test(text) ? text : undefined;
}
