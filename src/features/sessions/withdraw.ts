import type * as z from "zod";
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
  const messages: Withdrawn["messages"] = [];
  if (taken.length === 0) return { messages };
  const seqs = new Set(taken.map(({ seq }) => seq));
  for await (const { seq, type, data } of session.journal.read(taken[0].seq - 1)) {
    if (type !== "user.message" || !seqs.has(seq)) continue;
    const { message_id, text, attachments } = data;
    messages.push({ message_id, seq, text, ...(attachments && { attachments }) });
    if (messages.length === taken.length) break;
  }
  return { messages };
}
