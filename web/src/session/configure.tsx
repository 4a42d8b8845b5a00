/* What the page begins with stays one file. */
import { shownTitle } from "../../../src/session/titles.ts";
import "../main.tsx";
import { useSignal } from "@preact/signals";
import { NETWORKS } from "../../../src/protocol/network.ts";
import { type AddedDirectory, parseAddDirectory } from "../../../src/protocol/added_directory.ts";
import { useApp } from "../app.ts";
import type { Params } from "../rpc/api.ts";
import { TitleField } from "../sessions/title_field.tsx";
import { Check } from "../ui/check.tsx";
import { Dialog, FormFoot } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import type { SessionStore } from "./store.ts";

type Settings = Omit<Params<"session.configure">, "session_id">;
type Reach = NonNullable<Settings["network"]>;

/** What commands reach, in words. */
const REACH: Record<Reach, string> = {
  default: "As in the settings of svc",
  off: "Nothing",
  allowed: "Allowed hosts",
  on: "Everything",
};

interface ConfigureProps {
  store: SessionStore;
  onClose(): void;
}

/** Changes settings of a session, also while a turn runs. */
export function Configure({ store, onClose }: ConfigureProps) {
  const { client, sessions } = useApp();
  const { state } = store;
  const title = useSignal(shownTitle(state));
  const budget = useSignal(state.budget_usd === undefined ? "" : String(state.budget_usd));
  const pinned = useSignal(state.pinned ?? false);
  const archived = useSignal(state.archived ?? false);
  const network = useSignal<Reach>(state.network ?? "default");
  const added = useSignal(linesOf(state.added_dirs ?? []));
  const { submit, ...foot } = useSubmit(async () => {
    const changes = changed(settingsOf(store), {
      title: title.value.trim() || undefined,
      network: network.value,
      budget_usd: budget.value.trim() === "" ? undefined : Number(budget.value),
      pinned: pinned.value,
      archived: archived.value,
    });
    Object.assign(changes, directoriesChanged(state.added_dirs ?? [], added.value));
    if (Object.keys(changes).length > 0) {
      await client.call("session.configure", { session_id: store.id, ...changes });
      sessions.refresh();
    }
    onClose();
  });
  return (
    <Dialog title="Session settings" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TitleField value={title} />
        <Field label="Budget in USD" optional>
          {(control) => (
            <input
              {...control}
              type="number"
              min="0.01"
              step="any"
              inputMode="decimal"
              value={budget}
              onInput={({ currentTarget }) => budget.value = currentTarget.value}
            />
          )}
        </Field>
        <Field label="Commands reach" hint="Of the network, from the next command on.">
          {(control) => (
            <select
              {...control}
              value={network}
              onChange={({ currentTarget }) => network.value = currentTarget.value as Reach}
            >
              {(["default", ...NETWORKS] as const).map((it) => (
                <option key={it} value={it}>{REACH[it]}</option>
              ))}
            </select>
          )}
        </Field>
        <Field
          label="Added directories"
          hint="One a line, for tools and commands. DIR:ro is read-only."
          optional
        >
          {(control) => (
            <textarea
              {...control}
              rows={2}
              value={added}
              onInput={({ currentTarget }) => added.value = currentTarget.value}
            />
          )}
        </Field>
        <Check label="Pin to the top of lists" value={pinned} />
        <Check label="Archive: hide from lists until the next message" value={archived} />
        <FormFoot {...foot} action="Save" onClose={onClose} />
      </form>
    </Dialog>
  );
}

function settingsOf({ state }: SessionStore): Settings {
  const { network = "default", budget_usd, pinned = false, archived = false } = state;
  return { title: shownTitle(state), network, budget_usd, pinned, archived };
}

function linesOf(added: readonly AddedDirectory[]): string {
  return added.map(({ path, access }) => access === "read" ? `${path}:ro` : path).join("\n");
}

/** Returns what a person's lines change; nothing that stays as it is. */
function directoriesChanged(now: readonly AddedDirectory[], lines: string): Partial<Settings> {
  const wanted = lines.split("\n").map((line) => line.trim()).filter((line) => line !== "")
    .map(parseAddDirectory);
  const add_dirs = wanted.filter(({ path, access }) =>
    !now.some((it) => it.path === path && it.access === access)
  );
  const remove_dirs = now.map(({ path }) => path)
    .filter((path) => !wanted.some((it) => it.path === path));
  return {
    ...(add_dirs.length > 0 && { add_dirs }),
    ...(remove_dirs.length > 0 && { remove_dirs }),
  };
}

/** Returns the wanted settings that differ from those that hold; undefined leaves one as it is. */
function changed(now: Settings, wanted: Settings): Settings {
  const entries = Object.entries(wanted) as [keyof Settings, Settings[keyof Settings]][];
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== undefined && value !== now[name]),
  );
}
