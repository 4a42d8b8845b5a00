/** The choice of a model, with a box that narrows it down. Loaded when it is opened. */
/* What the page begins with stays one file. */
import "../main.tsx";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { fuzzyScore } from "../../../src/base/fuzzy.ts";
import { useApp } from "../app.ts";
import { knownModels } from "../sessions/known_models.ts";
import { moved, type Option, optionId, OptionList } from "../ui/option_list.tsx";
import type { SessionStore } from "./store.ts";

const LIST = "model-list";

interface ModelPickerProps {
  store: SessionStore;
  onDone(): void;
}

export function ModelPicker({ store, onDone }: ModelPickerProps) {
  const app = useApp();
  const { client, sessions } = app;
  const typed = useSignal("");
  const at = useSignal(0);
  const models = useSignal<readonly Option[]>(
    knownModels([{ model: store.state.model }, ...sessions.items.peek() ?? []], undefined)
      .map((label) => ({ label })),
  );
  useEffect(() => {
    client.ask("models.list", {}).then((listed) => {
      const usable = listed.models.map(({ id, title }) => ({ label: id, detail: title }));
      const others = models.peek().filter((it) => !usable.some(({ label }) => label === it.label));
      models.value = [...usable, ...others];
      const current = models.value.findIndex(({ label }) => label === store.state.model);
      if (typed.peek() === "" && at.peek() === 0) at.value = Math.max(0, current);
    }, (error) => app.report(error));
  }, []);
  const query = typed.value.trim();
  const scored = models.value.flatMap((option) => {
    const score = query === "" ? 0 : fuzzyScore(option.label, query);
    return score === undefined ? [] : [{ option, score }];
  });
  const options = scored.sort((a, b) => b.score - a.score).map(({ option }) => option);
  // A model that no provider lists can be named, too.
  if (query.includes("/") && !options.some(({ label }) => label === query)) {
    options.push({ label: query, detail: "use this name" });
  }
  const active = Math.min(at.value, options.length - 1);
  const pick = async ({ label: model }: Option) => {
    const params = { session_id: store.id, model };
    if (await app.attempt(() => client.call("session.configure", params))) onDone();
  };
  return (
    <div class="model-picker">
      <input
        type="text"
        role="combobox"
        aria-label="Model"
        aria-expanded={options.length > 0}
        aria-controls={LIST}
        aria-autocomplete="list"
        aria-activedescendant={active < 0 ? undefined : optionId(LIST, active)}
        placeholder={store.state.model}
        spellcheck={false}
        autocomplete="off"
        value={typed}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={(event) => {
          const to = options.length > 0 ? moved(event.key, active, options.length) : undefined;
          if (to !== undefined) at.value = to;
          else if (event.key === "Enter" && !event.isComposing && active >= 0) {
            pick(options[active]);
          } else return;
          event.preventDefault();
        }}
      />
      {options.length === 0 && <p class="hint">No model matches.</p>}
      <OptionList
        id={LIST}
        label="Models"
        options={options}
        at={active}
        onAt={(to) => at.value = to}
        onPick={pick}
      />
    </div>
  );
}
