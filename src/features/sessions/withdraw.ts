import type * as z from "zod";
import type { Delivery, LaterMessage } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import type { withdrawnSchema } from "./schemas.ts";

type Withdrawn = z.output<ReturnType<typeof withdrawnSchema>>;

/** Handles `session.withdraw`. @throws {SvcError} `ended`. */
export async function withdraw(
  session: Session,
  by: string,
  message_ids: readonly string[] | undefined,
): Promise<Withdrawn> {
  const taken = await session.withdraw(by, message_ids);
  const seqs = taken.flatMap(({ seq, message }) => message === undefined ? [seq] : []);
  const sent = await sentAt(session, seqs);
  return {
    messages: taken.flatMap(({ seq, message = sent.get(seq) }) => {
      if (message === undefined) return [];
      const { message_id, text, attachments } = message;
      return [{ message_id, seq, text, ...(attachments && { attachments }) }];
    }),
  };
}

/** Handles `session.redeliver`. @throws {SvcError} `ended`, `conflict`. */
export async function redeliver(
  session: Session,
  by: string,
  { message_id, delivery }: { message_id: string; delivery: Delivery },
): Promise<{ changed: boolean }> {
  const read = async (seq: number) => (await sentAt(session, [seq])).get(seq);
  return { changed: await session.redeliver(message_id, delivery, by, read) };
}

/** Returns the messages with these seqs, oldest first, from the journal. */
async function sentAt(
  session: Session,
  seqs: readonly number[],
): Promise<Map<number, LaterMessage>> {
  const found = new Map<number, LaterMessage>();
  if (seqs.length === 0) return found;
  for await (const { seq, type, data } of session.journal.read(Math.min(...seqs) - 1)) {
    if (type !== "user.message" || !seqs.includes(seq)) continue;
    const { delivery: _, ...message } = data;
    found.set(seq, message);
    if (found.size === seqs.length) break;
  }
  return found;
}
