/** What was said in all sessions, as it is searched for. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { explain, type Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Ago } from "../ui/time.tsx";

/** Somebody who goes on typing is not done. */
const PAUSE_MS = 250;
const SPEAKERS = { person: "You", model: "Agent", tool: "Tool" } as const;

type Found = Result<"session.search">["results"];

/** The messages that have the words of a query. */
export default function Said({ query }: { query: string }) {
  const { client } = useApp();
  const found = useSignal<Found | undefined>(undefined);
  const next = useSignal<string | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const ask = async (cursor?: string) => {
    const { results, next_cursor } = await client.ask("session.search", { query, cursor });
    return { results, next_cursor };
  };
  useEffect(() => {
    let gone = false;
    const timer = setTimeout(async () => {
      try {
        const { results, next_cursor } = await ask();
        if (gone) return;
        found.value = results;
        next.value = next_cursor;
        problem.value = undefined;
      } catch (error) {
        if (!gone) problem.value = explain(error);
      }
    }, PAUSE_MS);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [query]);
  const asked = useRef(query);
  asked.current = query;
  const more = async () => {
    const { results, next_cursor } = await ask(next.value);
    // Of words that are no longer looked for.
    if (asked.current !== query) return;
    found.value = [...found.value!, ...results];
    next.value = next_cursor;
  };
  return (
    <section class="found-said" aria-labelledby="said">
      <h2 id="said">In conversations</h2>
      <p class="said-count" role="status">
        {problem.value ??
          (found.value === undefined
            ? "Searching"
            : found.value.length === 0
            ? "Nothing was said with these words."
            : "")}
      </p>
      <ul>{found.value?.map((it) => <Place key={`${it.session_id}.${it.seq}`} found={it} />)}</ul>
      {next.value !== undefined && <Button onClick={more}>More</Button>}
    </section>
  );
}

function Place({ found: { session_id, seq, title, who, at, snippet } }: { found: Found[number] }) {
  const { router } = useApp();
  const path = `/sessions/${session_id}`;
  return (
    <li>
      <a
        href={path}
        onClick={(event) => {
          if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          router.go(path, { seq, find: snippet.find(({ match }) => match)?.text ?? "" });
        }}
      >
        <span class="said-head">
          <b class="clip" dir="auto">{title}</b>
          <span>
            {SPEAKERS[who]} · <Ago at={at} />
          </span>
        </span>
        <span class="said-text" dir="auto">
          {snippet.map(({ text, match }, n) => match ? <mark key={n}>{text}</mark> : text)}
        </span>
      </a>
    </li>
  );
}
