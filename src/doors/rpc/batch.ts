/** Answers JSON-RPC batches. Loaded lazily. */
import { BATCH_ANSWER_MAX } from "../../verbs/define.ts";

/** Messages of a batch in progress. */
const AT_ONCE = 16;
/** A batch always has room for answers up to this size, in characters. */
const SMALL = 64 * 1024;

interface BatchOptions {
  /** Returns undefined for a notification. */
  answerOne(message: unknown): Promise<string | undefined>;
  /** The answer when there is no room. */
  tooLarge(message: unknown, what: string): string;
  /** Whether answers can be large; then they are made one by one. */
  large: boolean;
}

/**
 * Answers a batch. Every call that was made gets an answer, if only an error on its size; without
 * room, further calls are not made. Returns undefined for notifications only.
 */
export async function answerBatch(
  messages: readonly unknown[],
  { answerOne, tooLarge, large }: BatchOptions,
): Promise<string | undefined> {
  const answers: (string | undefined)[] = new Array(messages.length);
  let left = BATCH_ANSWER_MAX;
  let next = 0;
  const what = "the answers to this batch are too large";
  const work = async () => {
    while (next < messages.length) {
      const n = next++;
      const message = messages[n];
      if (left < SMALL && (message as { id?: unknown } | null)?.id != null) {
        answers[n] = tooLarge(message, `${what}; this call was not made`);
        continue;
      }
      const said = await answerOne(message);
      if (said === undefined) continue;
      const fits = said.length <= Math.max(left, SMALL);
      answers[n] = fits ? said : tooLarge(message, what);
      if (fits) left -= said.length;
    }
  };
  await Promise.all(Array.from({ length: large ? 1 : AT_ONCE }, work));
  const given = answers.filter((it) => it !== undefined);
  return given.length > 0 ? `[${given.join(",")}]` : undefined;
}
