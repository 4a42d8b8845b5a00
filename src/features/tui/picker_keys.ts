/** What keys do while a picker is open, and what opens one. */
import type { Effect, PickerKind } from "./effect.ts";
import { clear, insert } from "./input.ts";
import type { Key } from "./keys.ts";
import type { Model } from "./model.ts";
import { type Asked, beginPicker, type Chosen, chosenOf, pressPicker, Secret } from "./picker.ts";

const TITLES: Record<PickerKind, string> = {
  palette: "What to do",
  sessions: "Sessions",
  models: "Models",
  approval: "What needs your approval",
  effort: "Effort",
  rewind: "Go back to before a message",
  changes: "Changed files",
  providers: "Ways to a model",
  export: "Export the conversation as",
  theme: "Colours",
};

/** Opens a picker. @returns what loads its entries */
export function openPicker(model: Model, kind: PickerKind): Effect[] {
  model.picker = beginPicker(kind, TITLES[kind]);
  return [{ type: "load_picker", kind }];
}

/** Opens a line that asks for something. */
export function askFor(model: Model, asked: Asked): void {
  model.picker = { ...beginPicker("ask", asked.title), loading: false, asked };
  model.secret = asked.secret ? new Secret() : undefined;
}

/** Handles a key while a picker is open. */
export function inPicker(model: Model, key: Key): Effect[] {
  const picker = model.picker!;
  const before = picker.query;
  const pressed = pressPicker(picker, key, model.secret);
  switch (pressed.type) {
    case "closes":
      closePicker(model);
      return [];
    case "chose":
      closePicker(model);
      return choose(model, pressed.does);
    case "answered":
      closePicker(model);
      return [answer(pressed.asked, pressed.text)];
  }
  if (picker.kind !== "sessions") return [];
  const searches = picker.query !== before && picker.query.trim().length >= SEARCH_MIN;
  if (picker.query.trim().length < SEARCH_MIN) picker.found = undefined;
  return [
    ...previewEffects(model),
    ...searches ? [{ type: "search_said", query: picker.query.trim() } as const] : [],
  ];
}

/** Shorter words are not searched for in what was said. */
const SEARCH_MIN = 3;

/** Asks for the preview of the chosen entry, unless it is there. */
export function previewEffects({ picker }: Model): Effect[] {
  const session_id = picker && chosenOf(picker)?.session_id;
  if (session_id === undefined || picker?.preview?.of === session_id) return [];
  return [{ type: "preview", session_id }];
}

export function closePicker(model: Model): void {
  model.picker = model.secret = undefined;
}

function choose(model: Model, does: Chosen): Effect[] {
  if ("picker" in does) return openPicker(model, does.picker);
  if ("ask" in does) {
    askFor(model, does.ask);
    return [];
  }
  if ("insert" in does) {
    if (model.input.text === "") clear(model.input);
    insert(model.input, does.insert);
    model.focus = "input";
    return [];
  }
  if (does.effects.some(({ type }) => type === "load_commands")) model.help = true;
  // At once: the next key is meant for it.
  if (does.effects.some(({ type }) => type === "plan_rewind")) {
    model.picker = beginPicker("undo", "Go back: what of it?");
  }
  return [...does.effects];
}

function answer({ effect, provider }: Asked, text: string): Effect {
  if (effect === "save_key") return { type: "save_key", provider: provider!, key: text };
  return { type: "setting", command: { setting: "title", value: text } };
}
