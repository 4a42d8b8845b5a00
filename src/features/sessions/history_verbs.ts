import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Hub } from "../../session/hub.ts";

const defineVerb = verbsOf<{ readonly hub: Hub }>();

/** Maximum number of characters of event data in one answer, which has at least one event. */
const CHARS_MAX = 4_000_000;
/** The same for records as they are in the journal: MCP clients are given them as one text. */
const LINES_CHARS_MAX = 1024 * 1024;

export const historyVerbs = [
  defineVerb({
    name: "session.history",
    summary: "Returns the recorded events of a session, page by page.",
    access: "read",
    large: true,
    input: () =>
      z.object({
        session_id: session_id(),
        since_seq: z.int().min(0).default(0)
          .describe("The last seq the client has; 0 starts with the oldest event kept"),
        from_last: z.int().min(1).optional()
          .describe("Start with the last so many messages of the person instead"),
        limit: z.int().min(1).max(20_000).default(1_000),
        deltas: z.enum(["session", "lane", "both"]).default("both")
          .describe("Form in which the main lane's text is sent"),
      }),
    output: () =>
      z.object({
        events: z.array(z.custom<SessionEvent>()),
        last_seq: z.int().describe("since_seq for the next page"),
        more: z.boolean(),
      }),
    async handle({ services }, { session_id, limit, deltas, from_last, since_seq: given }) {
      const session = await services.hub.get(session_id);
      const since_seq = from_last === undefined
        ? given
        : await (await import("./conversation.ts")).beforeLast(session, from_last);
      requireKept(session, since_seq);
      const { textForms } = await import("../../session/subscription.ts");
      const wanted = textForms(deltas);
      const events: SessionEvent[] = [];
      const { published_seq } = session;
      let last_seq = since_seq;
      let chars = 0;
      for await (const { event, line } of session.journal.records(since_seq)) {
        if (event.seq > published_seq || events.length >= limit) break;
        if (wanted(event)) {
          chars += line.length;
          if (chars > CHARS_MAX && events.length > 0) break;
          events.push(event);
        }
        last_seq = event.seq;
      }
      return { events, last_seq, more: last_seq < published_seq };
    },
  }),
  defineVerb({
    name: "session.journal",
    summary: "Returns records of a session's journal, as they are written there.",
    access: "read",
    internal: true,
    large: true,
    input: () =>
      z.object({
        session_id: session_id(),
        since_seq: z.int().min(0).optional()
          .describe("The last seq the client has; by default, the last records are returned"),
        limit: z.int().min(1).max(2_000).default(200),
      }),
    output: () =>
      z.object({
        lines: z.array(z.string()),
        last_seq: z.int().describe("since_seq for the next page"),
        more: z.boolean(),
      }),
    async handle({ services, signal }, { session_id, since_seq, limit }) {
      const session = await services.hub.get(session_id);
      const { published_seq } = session;
      const lines: string[] = [];
      let last_seq = since_seq ?? Math.max(published_seq - limit, 0);
      let chars = 0;
      for await (const { event, line } of session.journal.records(last_seq)) {
        signal.throwIfAborted();
        // An event that is written but not yet published may still be taken back.
        if (event.seq > published_seq || lines.length === limit) break;
        chars += line.length;
        if (lines.length > 0 && chars > LINES_CHARS_MAX) break;
        lines.push(line);
        last_seq = event.seq;
      }
      return { lines, last_seq, more: last_seq < published_seq };
    },
  }),
];

/** @throws {SvcError} journal_trimmed for a position that a checkpoint has replaced. */
function requireKept({ journal: { trimmed_seq }, id }: Session, since_seq: number): void {
  if (since_seq === 0 || since_seq >= trimmed_seq) return;
  throw new SvcError(
    "journal_trimmed",
    `events up to ${trimmed_seq} of session ${id} are in a checkpoint`,
    { hint: "start with since_seq 0", details: { oldest_seq: trimmed_seq + 1 } },
  );
}
