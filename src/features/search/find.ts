import type * as z from "zod";
import { realPathOrSame } from "../../os/files.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Hub } from "../../session/hub.ts";
import type { SessionItem } from "../../session/session_item.ts";
import type { Speaker } from "./messages.ts";
import { termsOf } from "./query.ts";
import type { searchInputSchema } from "./schemas.ts";
import type { Searcher } from "./searcher.ts";

type ReadableItem = SessionItem & { state: Exclude<SessionItem["state"], "unreadable"> };

function isReadable(item: SessionItem): item is ReadableItem {
  return item.state !== "unreadable";
}

/**
 * Handles `session.search`.
 * @param trusted whether to leave out untrusted sessions
 * @throws {SvcError} validation for a bad query or cursor; unavailable
 */
export async function findSaid(
  hub: Hub,
  searcher: Searcher,
  { query, who: only, workdir: named, since, until, tools, order, limit, cursor }: z.output<
    ReturnType<typeof searchInputSchema>
  >,
  trusted: boolean,
) {
  const terms = only !== undefined && query.trim() === "" ? [] : termsOf(query);
  const before = cursor === undefined ? undefined : Number(cursor);
  if (before !== undefined && !(Number.isSafeInteger(before) && before > 0)) {
    throw new SvcError("validation", "session.search: invalid cursor");
  }
  const [items, journals] = await Promise.all([hub.list(true), hub.journals()]);
  const sessions = new Map<string, ReadableItem>();
  for (const item of items) if (isReadable(item)) sessions.set(item.id, item);
  const readable = [...sessions.values()].flatMap(({ id, last_seq }) => {
    const journal_path = journals.get(id);
    return journal_path === undefined ? [] : [{ id, journal_path, last_seq }];
  });
  const workdir = named && await realPathOrSame(named);
  const wanted = (it: ReadableItem) =>
    (workdir === undefined || it.workdir === workdir) && (!trusted || it.trust === "trusted");
  const all = workdir === undefined && !trusted;
  const among = all ? undefined : [...sessions.values()].filter(wanted).map(({ id }) => id);
  const who: Speaker[] = only !== undefined
    ? [only]
    : tools
    ? ["person", "model", "tool"]
    : ["person", "model"];
  const { found, next, pending } = await searcher.search(readable, {
    terms,
    who,
    whole: only !== undefined,
    among,
    since: since && Date.parse(since) || undefined,
    until: until && Date.parse(until) || undefined,
    before,
    limit,
    order,
  });
  const results = found.flatMap((it) => {
    const session = sessions.get(it.session_id);
    if (session === undefined) return [];
    return [{ ...it, title: session.title, workdir: session.workdir, state: session.state }];
  });
  return {
    results,
    ...(next === undefined ? {} : { next_cursor: String(next) }),
    pending_sessions: pending,
  };
}
