/** Finds a view, a session or a verb, and goes there or runs it. */
import "../main.tsx";
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { explain, type Result } from "../rpc/api.ts";
import { ROUTES } from "../routes.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { hasWords } from "../ui/search_box.tsx";
import { VerbForm } from "./verb_form.tsx";

export type VerbInfo = Result<"daemon.verbs">["verbs"][number];

interface Entry {
  key: string;
  icon: IconName;
  label: string;
  detail: string;
  run(): void;
}

const SHOWN = 60;

export function Palette({ onClose }: { onClose(): void }) {
  const app = useApp();
  const verbs = useSignal<readonly VerbInfo[]>([]);
  const error = useSignal<string | undefined>(undefined);
  const verb = useSignal<VerbInfo | undefined>(undefined);
  useEffect(() => {
    app.client.ask("daemon.verbs", {}).then(
      (it) => verbs.value = it.verbs,
      (thrown) => error.value = explain(thrown),
    );
  }, []);
  const go = (path: string) => {
    onClose();
    app.router.go(path);
  };
  const entries: Entry[] = [
    ...ROUTES.filter((it) => it.nav).map(({ path, nav }): Entry => ({
      key: path,
      icon: nav!.icon,
      label: nav!.label,
      detail: "Go to",
      run: () => go(path),
    })),
    ...(app.sessions.items.value ?? []).map(({ id, title, workdir }): Entry => ({
      key: id,
      icon: "sessions",
      label: title,
      detail: workdir,
      run: () => go(`/sessions/${id}`),
    })),
    ...verbs.value.map((it): Entry => ({
      key: it.name,
      icon: "terminal",
      label: it.name,
      detail: it.summary,
      run: () => verb.value = it,
    })),
  ];
  if (verb.value !== undefined) {
    return (
      <Dialog title={verb.value.name} onClose={onClose} wide>
        <VerbForm verb={verb.value} onBack={() => verb.value = undefined} />
      </Dialog>
    );
  }
  return (
    <Dialog title="Search or run" onClose={onClose} wide>
      <Search entries={entries} />
      {error.value && <p class="form-error" role="alert">{error}</p>}
    </Dialog>
  );
}

/** A combobox: the focus stays in the box, the arrows move through what is found. */
function Search({ entries }: { entries: readonly Entry[] }) {
  const query = useSignal("");
  const at = useSignal(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const found = entries.filter(({ label, detail }) => hasWords(query.value, [label, detail]))
    .slice(0, SHOWN);
  const chosen = Math.min(at.value, found.length - 1);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen, query.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 };
    if (event.key in moves) {
      event.preventDefault();
      at.value = Math.max(0, Math.min(moves[event.key], found.length - 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      found[chosen]?.run();
    }
  };
  return (
    <div class="palette">
      <div class="palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          data-focus
          aria-label="Find a view, a session or a verb"
          aria-expanded="true"
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
          placeholder="A view, a session, or a verb such as session.start"
          spellcheck={false}
          value={query}
          onInput={({ currentTarget }) => {
            query.value = currentTarget.value;
            at.value = 0;
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <ul ref={list} id={id} role="listbox" aria-label="Found">
        {found.map(({ key, icon, label, detail, run }, n) => (
          <li
            key={key}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={run}
          >
            <Icon name={icon} />
            <span class="palette-label clip">{label}</span>
            <span class="palette-detail clip">{detail}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="palette-none" role="status">Nothing found</p>}
    </div>
  );
}
