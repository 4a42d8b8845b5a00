/** The messages of a JSON-RPC batch, answered together. Loaded at the first one. */
import { BATCH_ANSWER_MAX } from "../../verbs/define.ts";

/** The most messages of a batch in progress at once. */
const AT_ONCE = 16;
/** The size of an answer for which a batch always has space, in characters. */
const SMALL = 64 * 1024;

/** How the messages of a batch are answered. */
export interface BatchOptions {
  /** Undefined for a notification. */
  answerOne(message: unknown): Promise<string | undefined>;
  /** The answer to a message for whose answer there is no space. */
  tooLarge(message: unknown, what: string): string;
  /** Whether answers can be large: they are made one after the other. */
  large: boolean;
}

/**
 * Answers the messages of a batch while there is space for answers. Every call that was made gets
 * an answer, if only an error about its size; calls beyond the limit are not made.
 *
 * @returns the answer's text; undefined when there is none (only notifications)
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
