/** A session to type in, for tests. */
import { withLabels } from "./chips.ts";
import { parseKey } from "./keys.ts";
import type { Effect } from "./effect.ts";
import { press } from "./keymap.ts";
import { Layouts } from "./layout.ts";
import { emptyModel, type Model } from "./model.ts";

const VIEW = { cols: 80, height: 10, expanded: false, layouts: new Layouts() };

/** Presses keys by their names. @returns what they ask for */
export function keysOn(model: Model, ...names: string[]): Effect[] {
  return names.flatMap((name) =>
    press(model, parseKey(name), { view: VIEW, newId: () => "id", named: (it) => it })
  );
}

/** Pastes text. */
export function pasteOn(model: Model, text: string): Effect[] {
  return press(model, { type: "paste", text }, {
    view: VIEW,
    newId: () => "id",
    named: (it) => it,
  });
}

/** Returns a session in which a text was typed key by key. */
export function typed(text: string): Model {
  const model = emptyModel("sess_00000000000000000000000000");
  keysOn(model, ...text);
  return model;
}

/** The message with its labels, and a bar for the cursor. */
export function shownText({ input }: Model): string {
  const { text, cursor } = input;
  return withLabels(input, `${text.slice(0, cursor)}|${text.slice(cursor)}`);
}
