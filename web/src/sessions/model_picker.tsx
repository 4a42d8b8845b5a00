import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { Picker } from "../ui/picker.tsx";
import { hasWords } from "../ui/search_box.tsx";
import { knownModels } from "./known_models.ts";

interface ModelPickerProps {
  /** The id of the one that is chosen; undefined while it is not known. */
  model: string | undefined;
  info?: Result<"daemon.info">;
  onPick(model: string): unknown;
}

/** Providers have hundreds; typing finds the others. */
const SHOWN = 100;

/** A button that shows a model, and opens a list of those that can be used. */
export function ModelPicker({ model, info, onPick }: ModelPickerProps) {
  const { client, sessions } = useApp();
  const listed = useSignal<Result<"models.list">["models"]>([]);
  /** The providers are asked once it is opened. */
  const load = () =>
    client.ask("models.list", {}).then(({ models }) => listed.value = models, () => {});
  const options = (query: string) => {
    const titles = new Map(listed.value.map(({ id, title }) => [id, title]));
    const used = [...model === undefined ? [] : [{ model }], ...sessions.items.peek() ?? []];
    const known = knownModels(used, info).filter((id) => !id.endsWith("/"));
    const ids = [...new Set([...known, ...titles.keys()])]
      .filter((id) => hasWords(query, [id, titles.get(id) ?? ""]));
    // A model that no provider lists can be named, too.
    const typed = query.trim();
    if (/^[^/\s]+\/\S+$/.test(typed) && !ids.includes(typed)) ids.push(typed);
    return ids.slice(0, SHOWN).map((id) => ({
      value: id,
      label: id,
      detail: id === info?.default_model ? "default" : titles.get(id),
      icon: id === model ? "check" as const : "terminal" as const,
    }));
  };
  return (
    <Picker
      label="Model"
      text={model ?? "Model"}
      title={model}
      icon="terminal"
      placeholder="Find a model"
      options={options}
      version={listed.value}
      onOpen={load}
      onPick={onPick}
    />
  );
}
