/** What a session without a model offers first: three ways, by the keys 1 to 3. */
import type { Result } from "../verb_types.ts";
import type { Effect } from "./effect.ts";
import { addEntry, removeEntry } from "./entries.ts";
import { introduction, TOOLBELT } from "./introduction.ts";
import type { Model } from "./model.ts";
import { openPicker } from "./picker_keys.ts";
import { clean, cleanLine } from "./text.ts";

/** Whether nothing was said yet, and no model is there to say it to. */
export function needsModel({ session, entries }: Model): boolean {
  return session.model === TOOLBELT &&
    entries.every(({ kind }) => kind === "note" || kind === "problem");
}

/** Offers the ways to a model in place of the introduction. @param named the name of this svc */
export function offerWays(
  model: Model,
  { servers, agents }: Result<"models.providers">,
  named: (text: string) => string,
): void {
  const local = servers.find(({ running, models }) => running && models.length > 0)?.models[0] ??
    agents.find(({ needs }) => needs === undefined)?.model;
  const text = `No model is set up yet. Press 1, 2 or 3:

  1  log in to a provider: with the browser, or with an API key
  2  ${
    local === undefined
      ? "look again for Ollama, LM Studio or an agent on this machine: none was found"
      : `use ${cleanLine(local)}, which is on this machine`
  }
  3  go on without one: builtin/toolbelt runs instructions, such as ls`;
  for (const { id } of model.entries) removeEntry(model, id);
  const { id } = addEntry(model, "note", clean(named(text)));
  model.first_run = { entry: id, ...local !== undefined && { local } };
  model.scroll = undefined;
}

/** Handles a key on an empty message. @returns undefined for another key */
export function inFirstRun(
  model: Model,
  char: string,
  named: (text: string) => string,
): Effect[] | undefined {
  const { first_run } = model;
  if (first_run === undefined || !needsModel(model)) return undefined;
  switch (char) {
    case "1":
      return openPicker(model, "providers");
    case "2":
      if (first_run.local === undefined) return [{ type: "find_models" }];
      return [{ type: "setting", command: { setting: "model", value: first_run.local } }];
    case "3": {
      model.first_run = undefined;
      removeEntry(model, first_run.entry);
      const { id } = addEntry(model, "note", named(introduction(TOOLBELT)));
      model.scroll = { entry: id, row: 0 };
      return [];
    }
  }
  return undefined;
}
