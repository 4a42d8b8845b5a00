/** Finds a view, a session or a verb, and goes there or runs it. */
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { visibleLine } from "../../../src/base/visible.ts";
import { FOUND_MAX, searchQuery } from "../../../src/features/chat_commands/earlier.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { type App, useApp } from "../app.ts";
import { matchPath } from "../router.ts";
import { explain, type Result } from "../rpc/api.ts";
import { ROUTES } from "../routes.tsx";
import { recentDirectories } from "../sessions/groups.ts";
import { new_session } from "../sessions/new_session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { LETTER } from "../ui/keys.ts";
import { hasWords } from "../ui/search_box.tsx";
import { Keys } from "./keys.tsx";
import { VerbForm } from "./verb_form.tsx";
import { useId } from "../ui/use_id.ts";

export type VerbInfo = Result<"daemon.verbs">["verbs"][number];

interface Entry {
  key: string;
  icon: IconName;
  label: string;
  detail: string;
  /** What it is found by besides. */
  words?: string;
  run(): unknown;
}

interface Section {
  title: string;
  entries: readonly Entry[];
}

const QUESTIONS = { label: "Questions", icon: "bell" } as const;

/** The most that are shown of a section. */
const SHOWN = 60;

/** What is open: the search, the earlier messages, the keys, or what an entry asks for next. */
export type Step =
  | "search"
  | "earlier"
  | "keys"
  | { verb: VerbInfo }
  | { models_of: string }
  | { files_of: string };

/** Begins with what people do; all that the daemon can do stands below. */
export function Palette() {
  const { palette } = useApp();
  const onClose = () => palette.value = undefined;
  const step = palette.value!;
  const dialog = (title: string, shown: VNode) => (
    <Dialog title={title} onClose={onClose} wide>{shown}</Dialog>
  );
  if (step === "search") return dialog("Search or run", <Begin onClose={onClose} />);
  if (step === "earlier") return dialog("Earlier messages", <Earlier onDone={onClose} />);
  if (step === "keys") return dialog("Keys", <Keys />);
  if ("verb" in step) {
    const { verb } = step;
    const back = () => palette.value = "search";
    return dialog(verb.name, <VerbForm verb={verb} onBack={back} />);
  }
  return "files_of" in step
    ? dialog("Open file", <Files session_id={step.files_of} onDone={onClose} />)
    : dialog("Switch model", <Models session_id={step.models_of} onDone={onClose} />);
}

function Begin({ onClose }: { onClose(): void }) {
  const app = useApp();
  const verbs = useSignal<readonly VerbInfo[]>([]);
  const error = useSignal<string | undefined>(undefined);
  useEffect(() => {
    app.client.ask("daemon.verbs", {}).then(
      (it) => verbs.value = it.verbs,
      (thrown) => error.value = explain(thrown),
    );
  }, []);
  const commands = verbs.value.map((verb): Entry => ({
    key: verb.name,
    icon: "terminal",
    label: verb.name,
    detail: verb.summary,
    run: () => app.palette.value = { verb },
  }));
  const sections = [
    { title: "Do", entries: actions(app, onClose) },
    { title: "Go to session", entries: sessionsOf(app, onClose) },
    { title: "All commands", entries: commands },
  ];
  return (
    <>
      <Search sections={sections} label="Action, session or command" />
      {error.value && <p class="form-error" role="alert">{error}</p>}
    </>
  );
}

/** What people do, in the order in which they do it most. */
function actions(app: App, onClose: () => void): Entry[] {
  const { fill, fold } = app.view;
  const onStep = (step: Step) => app.palette.value = step;
  const session_id = matchPath("/sessions/:id", app.router.path.value)?.id;
  const item = app.sessions.items.value?.find(({ id }) => id === session_id);
  const open = session_id !== undefined && item?.state !== "ended";
  const done = (work: () => Promise<unknown>) => () => {
    onClose();
    app.attempt(work);
  };
  return [
    {
      key: "new",
      icon: "plus",
      label: "New session",
      detail: "",
      run() {
        onClose();
        app.compose();
      },
    },
    ...(open
      ? [
        {
          key: "model",
          icon: "terminal",
          label: "Switch model…",
          detail: item?.model ?? "",
          run: () => onStep({ models_of: session_id }),
        } as const,
      ]
      : []),
    ...(session_id !== undefined
      ? [
        {
          key: "file",
          icon: "file",
          label: "Open file…",
          detail: "Of the session's directory, by its name",
          run: () => onStep({ files_of: session_id }),
        } as const,
      ]
      : []),
    ...(fill
      ? [
        {
          key: "earlier",
          icon: "up",
          label: "Earlier messages…",
          detail: `What you said in all sessions (${LETTER}R)`,
          words: "history search",
          run: () => onStep("earlier"),
        } as const,
      ]
      : []),
    ...(fold
      ? [
        {
          key: "fold",
          icon: "chevron",
          label: "Open or fold all cards",
          detail: `${LETTER}O`,
          run() {
            onClose();
            fold();
          },
        } as const,
      ]
      : []),
    ...(open && item?.activity !== "idle"
      ? [
        {
          key: "stop",
          icon: "stop",
          label: "Stop",
          detail: "Cancels the turn",
          run: done(() => app.client.call("session.cancel", { session_id })),
        } as const,
      ]
      : []),
    ...(open
      ? [
        {
          key: "rewind",
          icon: "undo",
          label: "Rewind the last turn",
          detail: "Files and conversation; can be undone",
          words: "undo go back",
          run: done(() => rewind(app, session_id)),
        } as const,
      ]
      : []),
    ...ROUTES.flatMap(({ path, nav = path === "/questions" ? QUESTIONS : undefined }) =>
      nav ? [{ path, nav }] : []
    ).map(({ path, nav }): Entry => ({
      key: path,
      icon: nav.icon,
      label: path === "/settings" ? "Open settings…" : nav.label,
      detail: "",
      words: "go to page",
      run() {
        onClose();
        app.router.go(path);
      },
    })),
    { key: "keys", icon: "command", label: "Keys", detail: "?", run: () => onStep("keys") },
  ];
}

/** Undoes the last turn, as `/undo` does. */
async function rewind(app: App, session_id: string): Promise<void> {
  const { runTyped } = await app.load(() => import("../on_demand.ts"));
  const call: CallVerb = (name, params) => app.client.call(name, params);
  const acts = { stop: async () => {}, save: async () => {}, giveBack() {}, open() {} };
  const typed = await runTyped("/undo", session_id, call, acts);
  if ("said" in typed && typed.said) app.announcer.say(typed.said);
}

function sessionsOf({ router, sessions }: App, onClose: () => void): Entry[] {
  return (sessions.items.value ?? []).map(({ id, title, workdir }) => ({
    key: id,
    icon: "sessions",
    label: title,
    detail: workdir,
    words: "go to session",
    run() {
      onClose();
      router.go(`/sessions/${id}`);
    },
  }));
}

/** Chooses the model of a session. */
function Models({ session_id, onDone }: { session_id: string; onDone(): void }) {
  const app = useApp();
  const { client, sessions } = app;
  const listed = useRef<Promise<Result<"models.list">>>();
  const current = sessions.items.value?.find(({ id }) => id === session_id)?.model;
  const find = async (query: string): Promise<Entry[]> => {
    const { models } = await (listed.current ??= client.ask("models.list", {}));
    return models.filter(({ id, title = "" }) => hasWords(query, [id, title])).slice(0, SHOWN)
      .map(({ id, title = "" }) => ({
        key: id,
        icon: id === current ? "check" : "terminal",
        label: id,
        detail: title,
        run() {
          onDone();
          app.attempt(async () => {
            await client.call("session.configure", { session_id, model: id });
            await sessions.refresh();
          });
        },
      }));
  };
  return <Finder title="Models" label="Find a model" find={find} />;
}

/** Opens a file of a session beside its conversation. */
function Files({ session_id, onDone }: { session_id: string; onDone(): void }) {
  const { client, opening } = useApp();
  const find = async (query: string): Promise<Entry[]> => {
    const { paths } = await client.ask("files.find", { session_id, query, limit: SHOWN });
    return paths.filter((path) => !path.endsWith("/")).map((path) => {
      const cut = path.lastIndexOf("/") + 1;
      const [label, detail] = [path.slice(cut), path.slice(0, cut)];
      const run = () => {
        onDone();
        opening.value = path;
      };
      return { key: path, icon: "file", label, detail, run };
    });
  };
  return <Finder title="Files" label="Find a file" find={find} />;
}

/** Puts what the person said before into the message box. */
function Earlier({ onDone }: { onDone(): void }) {
  const app = useApp();
  const { client, router, sessions, view } = app;
  const items = sessions.items.value ?? [];
  const here = items.find(({ id }) => router.path.value === `/sessions/${id}`);
  const workdir = (here ?? new_session.value).workdir ?? recentDirectories(items)[0];
  const take = async (session_id: string, seq: number) => {
    const { fill } = view;
    onDone();
    const about = { session_id, since_seq: seq - 1, limit: 1 };
    const { events: [event] } = await client.ask("session.history", about);
    const { text } = event.data as { text: string };
    // Whoever has gone to another box meanwhile did not choose it for that one.
    if (fill === view.fill) fill?.(text);
  };
  const find = async (query: string, again: () => void): Promise<Entry[]> => {
    const asked = { query: searchQuery(query), who: "person", limit: FOUND_MAX } as const;
    const answers = await Promise.all(
      [...workdir === undefined ? [] : [{ workdir }], {}].map((where) =>
        client.ask("session.search", { ...asked, ...where })
      ),
    );
    if (answers.some(({ pending_sessions }) => pending_sessions > 0)) again();
    const texts = new Set<string>();
    return answers.flatMap(({ results }) => results).flatMap(({ session_id, seq, title, text }) => {
      const label = visibleLine(text ?? "").trim();
      if (label === "" || texts.has(label)) return [];
      texts.add(label);
      const run = () => app.attempt(() => take(session_id, seq));
      return [{ key: `${session_id} ${seq}`, icon: "sessions", label, detail: title, run }];
    });
  };
  return <Finder title="This directory first" label="Find what you said" find={find} />;
}

interface FinderProps {
  title: string;
  /** What is looked for. */
  label: string;
  /** @param again has it asked once more in a moment, as there will be more */
  find(query: string, again: () => void): Promise<readonly Entry[]>;
}

/** The first search reads what was said so far. */
const AGAIN_MS = 1_000;

/** Looks for what is typed, where all of it would be too much. */
function Finder({ title, label, find }: FinderProps) {
  const entries = useSignal<readonly Entry[] | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  const asked = useRef<Promise<void>>();
  const look = (query: string) => {
    const again = () => void setTimeout(() => asked.current === asking && look(query), AGAIN_MS);
    const asking = find(query, again).then((it) => {
      // More may have been typed meanwhile.
      if (asked.current !== asking) return;
      entries.value = it;
      error.value = undefined;
    }, (thrown) => {
      if (asked.current !== asking) return;
      entries.value = [];
      error.value = explain(thrown);
    });
    asked.current = asking;
  };
  useEffect(() => {
    look("");
    // Closed, it opens nothing that comes later.
    return () => asked.current = new Promise(() => {});
  }, []);
  const runFirst = async () => {
    let waited;
    while (waited !== asked.current) await (waited = asked.current);
    entries.peek()?.[0]?.run();
  };
  return (
    <>
      <Search
        sections={[{ title, entries: entries.value ?? [] }]}
        label={label}
        none={entries.value ? undefined : "Searching"}
        onQuery={look}
        onFirst={runFirst}
      />
      {error.value && <p class="form-error" role="alert">{error}</p>}
    </>
  );
}

interface SearchProps {
  sections: readonly Section[];
  /** What is looked for. */
  label: string;
  /** What is said where there are none. */
  none?: string;
  /** Finds the entries; without it they are chosen here, by their words. */
  onQuery?(query: string): void;
  /** Runs the first that is found for what was typed last, also before it is there. */
  onFirst?(): void;
}

/** A combobox: the focus stays in the box, the arrows move through what is found. */
function Search({ sections, label, none = "Nothing found", onQuery, onFirst }: SearchProps) {
  const query = useSignal("");
  const asked = query.value;
  /** The key of what is chosen; undefined for the first one. */
  const at = useSignal<string | undefined>(undefined);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLInputElement>(null);
  // Also where it takes the place of another one, whose box had the focus.
  useLayoutEffect(() => box.current!.focus(), []);
  const shown = sections.map(({ title, entries }) => ({
    title,
    entries: entries.filter(({ label, detail, words = "" }) =>
      onQuery !== undefined || hasWords(query.value, [label, detail, words])
    ).slice(0, SHOWN),
  })).filter(({ entries }) => entries.length > 0);
  const found = shown.flatMap(({ entries }) => entries);
  // What has gone leaves nothing chosen: Enter must not run its neighbour.
  const chosen = at.value === undefined
    ? Math.min(0, found.length - 1)
    : found.findIndex(({ key }) => key === at.value);
  useEffect(() => {
    // Also what is first stays chosen when something else comes or goes. More may have been typed
    // before this runs. Before an answer comes, the first one is still another question's.
    if (asked === query.peek() && onQuery === undefined) at.value ??= found[0]?.key;
  }, [asked, found.length]);
  useEffect(() => {
    const options = list.current!.querySelectorAll("[role=option]");
    // With its heading, where it is the first.
    if (chosen <= 0) list.current!.scrollTop = 0;
    else options[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen, query.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 };
    if (event.key in moves) {
      event.preventDefault();
      at.value = found[Math.max(0, Math.min(moves[event.key], found.length - 1))]?.key;
    } else if (event.key === "Enter") {
      event.preventDefault();
      // What was found for earlier words may still be shown.
      if (at.peek() === undefined && onFirst !== undefined) onFirst();
      else found[chosen]?.run();
    }
  };
  return (
    <div class="palette">
      <div class="palette-input">
        <Icon name="search" />
        <input
          ref={box}
          type="text"
          role="combobox"
          data-focus
          aria-label={label}
          aria-expanded="true"
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
          placeholder={label}
          spellcheck={false}
          value={query}
          onInput={({ currentTarget }) => {
            query.value = currentTarget.value;
            at.value = undefined;
            onQuery?.(query.value);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div ref={list} id={id} class="palette-list" role="listbox" aria-label="Found" tabIndex={-1}>
        {shown.map(({ title, entries }, n) => (
          <ul key={title} role="group" aria-labelledby={`${id}-of-${n}`}>
            <li id={`${id}-of-${n}`} class="palette-section" role="presentation">{title}</li>
            {entries.map((entry) => {
              const { key, icon, label, detail, run } = entry;
              const place = found.indexOf(entry);
              return (
                <li
                  key={key}
                  id={`${id}-${place}`}
                  role="option"
                  aria-selected={place === chosen}
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={run}
                >
                  <Icon name={icon} />
                  <span class="palette-label clip" dir="auto">{label}</span>
                  <span class="palette-detail clip">{detail}</span>
                </li>
              );
            })}
          </ul>
        ))}
      </div>
      {found.length === 0 && <p class="palette-none" role="status">{none}</p>}
    </div>
  );
}
