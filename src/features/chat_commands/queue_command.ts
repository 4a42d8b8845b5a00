/** `/queue TEXT` of a chat: sends a message that waits for a turn of its own. Without Deno. */

/** What a person reads who queues nothing. */
export const QUEUE_USAGE = "write the message after it: /queue TEXT";

/** Returns the text to queue, which may be empty; undefined for other lines. */
export function queuedText(line: string): string | undefined {
  const found = /^\s*\/queue(?:\s+([^]*))?$/.exec(line);
  return found === null ? undefined : (found[1] ?? "").trimEnd();
}
