/** Finds a view, a session or a verb, and goes there or runs it. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { type App, useApp } from "../app.ts";
import { matchPath } from "../router.ts";
import { explain, type Result } from "../rpc/api.ts";
import { ROUTES } from "../routes.tsx";
import { isComposed } from "../ui/composed.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { hasWords } from "../ui/search_box.tsx";
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

/** The most that are shown of a section. */
const SHOWN = 60;

/** What the palette asks for next. */
type Step = { verb: VerbInfo } | { models_of: string } | { files_of: string };

/** Begins with what people do; all that the daemon can do stands below. */
export function Palette({ onClose }: { onClose(): void }) {
  const app = useApp();
  const verbs = useSignal<readonly VerbInfo[]>([]);
  const error = useSignal<string | undefined>(undefined);
  const step = useSignal<Step | undefined>(undefined);
  useEffect(() => {
    app.client.ask("daemon.verbs", {}).then(
      (it) => verbs.value = it.verbs,
      (thrown) => error.value = explain(thrown),
    );
  }, []);
  const next = step.value;
  if (next !== undefined && "verb" in next) {
    return (
      <Dialog title={next.verb.name} onClose={onClose} wide>
        <VerbForm verb={next.verb} onBack={() => step.value = undefined} />
      </Dialog>
    );
  }
  if (next !== undefined && "files_of" in next) {
    return (
      <Dialog title="Open file" onClose={onClose} wide>
        <Files session_id={next.files_of} onDone={onClose} />
      </Dialog>
    );
  }
  if (next !== undefined) {
    return (
      <Dialog title="Switch model" onClose={onClose} wide>
        <Models session_id={next.models_of} onDone={onClose} />
      </Dialog>
    );
  }
  const commands = verbs.value.map((verb): Entry => ({
    key: verb.name,
    icon: "terminal",
    label: verb.name,
    detail: verb.summary,
    run: () => step.value = { verb },
  }));
  const sections = [
    { title: "Do", entries: actions(app, onClose, (it) => step.value = it) },
    { title: "Go to session", entries: sessionsOf(app, onClose) },
    { title: "All commands", entries: commands },
  ];
  return (
    <Dialog title="Search or run" onClose={onClose} wide>
      <Search sections={sections} label="Action, session or command" />
      {error.value && <p class="form-error" role="alert">{error}</p>}
    </Dialog>
  );
}

/** What people do, in the order in which they do it most. */
function actions(app: App, onClose: () => void, onStep: (step: Step) => void): Entry[] {
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
    ...ROUTES.filter((it) => it.nav).map(({ path, nav }): Entry => ({
      key: path,
      icon: nav!.icon,
      label: path === "/settings" ? "Open settings…" : nav!.label,
      detail: "",
      words: "go to page",
      run() {
        onClose();
        app.router.go(path);
      },
    })),
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
  const found = useSignal<Result<"models.list"> | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  useEffect(() => {
    client.ask("models.list", {}).then(
      (it) => found.value = it,
      (thrown) => error.value = explain(thrown),
    );
  }, []);
  const current = sessions.items.value?.find(({ id }) => id === session_id)?.model;
  const entries = (found.value?.models ?? []).map(({ id, title = "" }): Entry => ({
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
  if (error.value) return <p class="form-error" role="alert">{error}</p>;
  return <Search sections={[{ title: "Models", entries }]} label="Find a model" />;
}

/** Opens a file of a session beside its conversation. */
function Files({ session_id, onDone }: { session_id: string; onDone(): void }) {
  const { client, opening } = useApp();
  const paths = useSignal<readonly string[]>([]);
  const error = useSignal<string | undefined>(undefined);
  const asked = useRef<Promise<void>>();
  const look = (query: string) => {
    const asking = client.ask("files.find", { session_id, query, limit: SHOWN }).then((it) => {
      // More may have been typed meanwhile.
      if (asked.current !== asking) return;
      paths.value = it.paths.filter((path) => !path.endsWith("/"));
      error.value = undefined;
    }, (thrown) => {
      if (asked.current !== asking) return;
      paths.value = [];
      error.value = explain(thrown);
    });
    asked.current = asking;
  };
  useEffect(() => {
    look("");
    // Closed, it opens nothing that comes later.
    return () => asked.current = new Promise(() => {});
  }, []);
  const open = (path: string) => {
    onDone();
    opening.value = path;
  };
  const openFirst = async () => {
    let waited;
    while (waited !== asked.current) await (waited = asked.current);
    const [first] = paths.peek();
    if (first !== undefined) open(first);
  };
  const entries = paths.value.map((path): Entry => {
    const cut = path.lastIndexOf("/") + 1;
    const [label, detail] = [path.slice(cut), path.slice(0, cut)];
    return { key: path, icon: "file", label, detail, run: () => open(path) };
  });
  return (
    <>
      <Search
        sections={[{ title: "Files", entries }]}
        label="Find a file"
        onQuery={look}
        onFirst={openFirst}
      />
      {error.value && <p class="form-error" role="alert">{error}</p>}
    </>
  );
}

interface SearchProps {
  sections: readonly Section[];
  /** What is looked for. */
  label: string;
  /** Finds the entries; without it they are chosen here, by their words. */
  onQuery?(query: string): void;
  /** Runs the first that is found for what was typed last, also before it is there. */
  onFirst?(): void;
}

/** A combobox: the focus stays in the box, the arrows move through what is found. */
function Search({ sections, label, onQuery, onFirst }: SearchProps) {
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
    } else if (event.key === "Enter" && !isComposed(event)) {
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
      {found.length === 0 && <p class="palette-none" role="status">Nothing found</p>}
    </div>
  );
}
