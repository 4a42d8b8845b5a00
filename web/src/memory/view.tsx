import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/choice.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { SearchBox } from "../ui/search_box.tsx";
import { ShowOlder } from "../ui/show_older.tsx";
import { Empty, Pending } from "../ui/states.tsx";
import { useKept } from "../ui/use_kept.ts";
import { AuditTrail } from "./audit_trail.tsx";
import { CATEGORIES, type Category, type Entry, type Scope, SCOPES, scopeWord } from "./entry.ts";
import { EntryDialog } from "./entry_dialog.tsx";
import { EntryItem } from "./entry_item.tsx";
import { Lobes } from "./lobes.tsx";

interface Found {
  entries: Entry[];
  next_cursor?: string;
}

const SCOPE_OPTIONS: [Scope | "", string][] = [
  ["", "All"],
  ...Object.keys(SCOPES).map((it): [Scope, string] => [it as Scope, scopeWord(it)]),
];
const CATEGORY_OPTIONS = [["", "All"], ...Object.entries(CATEGORIES)] as [Category | "", string][];
const PAGE = 50;
const LIST_MAX = 1_000;
/** What recall ranks. */
const FOUND_MAX = 100;
/** Newest audit records in which the source of an entry is looked for. */
const SOURCES_MAX = 200;
/** A person types on for so long without a pause. */
const TYPING_MS = 200;
/** What clients write is told by no event. */
const EVERY_MS = 5_000;

type Dialog = { kind: "new" } | { kind: "edit" | "forget"; entry: Entry };

export default function Memory() {
  const { client, announcer } = useApp();
  const query = useKept("query", "");
  const scope = useKept<Scope | "">("scope", "");
  const category = useKept<Category | "">("category", "");
  const shown = useKept<number>("shown", PAGE);
  const dialog = useSignal<Dialog | undefined>(undefined);
  const close = () => dialog.value = undefined;
  const live = useLive<Found>({
    async ask() {
      const wanted = {
        scope: scope.peek() || undefined,
        category: category.peek() || undefined,
      };
      const text = query.peek().trim();
      if (text === "") return client.ask("cortex.list", { ...wanted, limit: shown.peek() });
      const { entries } = await client.ask("cortex.recall", { query: text, limit: FOUND_MAX });
      return { entries: entries.filter((it) => fits(it, wanted)) };
    },
    types: ["memory."],
    every_ms: EVERY_MS,
  });
  const audit = useLive<Result<"cortex.audit">>({
    ask: () => client.ask("cortex.audit", { limit: SOURCES_MAX }),
    types: ["memory."],
    every_ms: EVERY_MS,
  });
  const refresh = () => Promise.all([live.refresh(), audit.refresh()]);
  const typing = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(typing.current), []);
  const search = () => {
    clearTimeout(typing.current);
    typing.current = setTimeout(async () => {
      await live.refresh();
      announcer.say(counted(live.value.peek()?.entries.length ?? 0));
    }, TYPING_MS);
  };
  const found = live.value.value;
  const filtered = query.value.trim() !== "" || scope.value !== "" || category.value !== "";
  const sources = new Map(
    (audit.value.value?.records ?? []).map((record) => [record.entry_id, record.source_msg_id]),
  );
  const edited = dialog.value?.kind === "edit" ? dialog.value.entry : undefined;
  const forgotten = dialog.value?.kind === "forget" ? dialog.value.entry : undefined;
  return (
    <Page
      title="Memory"
      class="memory"
      of={live}
      actions={
        <Button tone="primary" icon="plus" onClick={() => dialog.value = { kind: "new" }}>
          Remember
        </Button>
      }
    >
      <div class="toolbar">
        <SearchBox label="Search the memory" value={query} onInput={search} />
        <Choice
          label="Scope"
          value={scope}
          options={SCOPE_OPTIONS}
          onChange={() => live.refresh()}
        />
        <Choice
          label="Category"
          value={category}
          options={CATEGORY_OPTIONS}
          onChange={() => live.refresh()}
        />
      </div>
      {found === undefined
        ? <Pending of={live} lines={6} label="Loading the memory" />
        : found.entries.length === 0
        ? filtered
          ? <Empty icon="search" title="No entries match" />
          : (
            <Empty icon="memory" title="No entries yet">
              <p>
                What sessions learn is kept here, and what you tell them: a preference, a fact about
                a project, something to beware of.
              </p>
              <Button tone="primary" icon="plus" onClick={() => dialog.value = { kind: "new" }}>
                Remember something
              </Button>
            </Empty>
          )
        : (
          <>
            <ul class="entries" aria-label="Entries">
              {found.entries.map((entry) => (
                <EntryItem
                  key={entry.entry_id}
                  entry={entry}
                  source={sources.get(entry.entry_id)}
                  onEdit={() => dialog.value = { kind: "edit", entry }}
                  onForget={() => dialog.value = { kind: "forget", entry }}
                />
              ))}
            </ul>
            {found.next_cursor !== undefined && shown.value < LIST_MAX && (
              <ShowOlder
                onClick={() => {
                  shown.value = Math.min(shown.value * 2, LIST_MAX);
                  return live.refresh();
                }}
              />
            )}
          </>
        )}
      {found && (
        <>
          <Lobes />
          <AuditTrail />
        </>
      )}
      {(dialog.value?.kind === "new" || edited) && (
        <EntryDialog entry={edited} onSaved={refresh} onClose={close} />
      )}
      {forgotten && (
        <ConfirmDialog
          title="Forget this?"
          text={`“${forgotten.content}” will be deleted permanently, including from the database index and log. Conversations that already contain it keep it.`}
          action="Forget it"
          onConfirm={async () => {
            await client.call("cortex.forget", { entry_id: forgotten.entry_id });
            await refresh();
            announcer.say("Forgotten");
          }}
          onClose={close}
        />
      )}
    </Page>
  );
}

function fits(entry: Entry, { scope, category }: { scope?: Scope; category?: Category }): boolean {
  return (scope === undefined || entry.scope === scope) &&
    (category === undefined || entry.category === category);
}

function counted(count: number): string {
  return count === 1 ? "1 entry" : `${count} entries`;
}
