/** The requests of the tui.* verbs, answered alike with and without a terminal. */
import { SvcError } from "../../protocol/errors.ts";
import type { TuiClient } from "./client.ts";
import type { Effect } from "./effect.ts";
import { parseKey } from "./keys.ts";

export type TuiRequest =
  /** `by_model`: whether a model may press it. */
  | { method: "press_key"; key?: string; text?: string; by_model?: boolean }
  | { method: "snapshot" }
  | { method: "get_model"; jsonpath?: string }
  | { method: "focus_lane"; lane_id: string };

/** What reads the person's files or takes their terminal: only their own keys do that. */
const OF_PERSON: readonly Effect["type"][] = ["editor", "attach", "paste_image"];

/**
 * Answers a request.
 *
 * @throws {SvcError} validation for an unknown key or a wrong JSONPath; not_found for a missing
 * lane.
 */
export async function answerRequest(client: TuiClient, request: TuiRequest): Promise<unknown> {
  const { tui } = client;
  switch (request.method) {
    case "press_key": {
      const { key, text, by_model } = request;
      // A client without a terminal knows the screen from the snapshot.
      tui.screen();
      const pressed = key === undefined ? { type: "paste", text: text! } as const : parseKey(key);
      const effects = tui.press(pressed);
      if (by_model) requirePerson(client, effects);
      const possible = effects.filter(({ type }) => !OF_PERSON.includes(type));
      if (effects.some(({ type }) => type === "editor" || type === "paste_image")) {
        tui.notice("that works only with keys in a terminal of your own");
      }
      await client.perform(possible);
      return position(client);
    }
    case "focus_lane":
      await client.perform(tui.focusLane(request.lane_id));
      return position(client);
    case "snapshot":
      return tui.snapshot();
    case "get_model": {
      const { jsonpath } = request;
      if (jsonpath === undefined) return { matches: [tui.model] };
      const { select } = await import("./jsonpath.ts");
      return { matches: select(jsonpath, tui.model) };
    }
    default:
      throw new SvcError(
        "not_implemented",
        "this version of the terminal UI does not support that",
      );
  }
}

/**
 * What the verbs refuse a model is no more possible by keys.
 *
 * @throws {SvcError} permission_denied; the message or the question is then there again
 */
function requirePerson({ tui }: TuiClient, effects: readonly Effect[]): void {
  const refused = effects.map(doneByPerson).find((it) => it !== undefined);
  if (refused === undefined) return;
  for (const effect of effects) {
    if (effect.type === "send") tui.takeBack(effect.client_message_id);
    if (effect.type === "approve") tui.reopen(effect.approval_id);
  }
  throw new SvcError("permission_denied", `only a person ${refused}`);
}

/** What an effect does, if only a person does it. */
function doneByPerson(effect: Effect): string | undefined {
  switch (effect.type) {
    case "send":
      return effect.run ? "runs a command with !" : undefined;
    case "approve":
      return effect.decision === "deny" ? undefined : "allows something with keys";
    case "save_key":
    case "login":
      return "saves a key";
    case "setting": {
      const { setting, value } = effect.command;
      if (setting === "trust") return "trusts a directory";
      if (value === "") return undefined;
      if (setting.endsWith("_dirs")) return "adds directories to a session";
      return setting === "network" ? "chooses a session's network" : undefined;
    }
  }
}

function position({ tui: { model: { focus, seq } } }: TuiClient) {
  return { focus, seq };
}
