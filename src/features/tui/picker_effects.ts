/** What menus and pickers ask of the daemon. Loaded with the first one. */
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { suggestionsFor } from "../chat_commands/suggestions.ts";
import type { CallVerb, Result } from "../verb_types.ts";
import { choicesFor, previewOf, saidChoices, undoChoices } from "./choices.ts";
import { type Effect, isPickerEffect, type PickerEffect } from "./effect.ts";
import type { Choice, Picker } from "./picker.ts";
import { previewEffects } from "./picker_keys.ts";
import { cleanLine } from "./text.ts";
import type { Tui } from "./tui.ts";

export interface PickerParts {
  tui: Tui;
  call: CallVerb;
  /** The screen may look different. */
  onChange(): void;
  /** Shows another session, where there is a terminal. */
  onOpen?(session_id: string): void;
  /** Opens a page in the browser, where there is a person. @returns whether one was started */
  onBrowse?(url: string): Promise<boolean>;
}

/** Matches in what was said that are listed. */
const SAID_MAX = 20;

export class PickerEffects {
  readonly #parts: PickerParts;
  /** The last of each kind that was asked for; one before it need not be answered any more. */
  readonly #wanted = new Map<string, PickerEffect>();
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(parts: PickerParts) {
    this.#parts = parts;
  }

  /** Carries out an effect. @throws as the verbs */
  async perform(effect: PickerEffect): Promise<void> {
    const { tui, call, onChange } = this.#parts;
    const session_id = tui.model.session.id;
    switch (effect.type) {
      case "suggest": {
        const { token } = effect;
        const options = await this.#last(
          effect,
          () => suggestionsFor(call, { session_id }, token, true),
        );
        tui.suggest(token, options);
        break;
      }
      case "load_picker":
        await this.#fill(() => choicesFor(effect.kind, tui.model, call));
        break;
      case "search_said": {
        const query = `${effect.query.replaceAll('"', " ")}*`;
        const found = await this.#last(
          effect,
          () => call("session.search", { query, limit: SAID_MAX }),
        );
        const { picker } = tui.model;
        if (found === undefined || picker?.kind !== "sessions") break;
        if (picker.query.trim() !== effect.query) break;
        picker.found = { query: effect.query, choices: saidChoices(found.results, session_id) };
        await this.#showMore(previewEffects(tui.model));
        break;
      }
      case "preview": {
        const of = effect.session_id;
        const lines = await this.#last(effect, () => previewOf(of, call));
        const { picker } = tui.model;
        if (lines !== undefined && picker !== undefined) picker.preview = { of, lines };
        break;
      }
      case "plan_rewind":
        await this.#fill(() => undoChoices(session_id, effect, call));
        break;
      case "rewind": {
        const { message_id, what, force, text, attachments } = effect;
        await call("session.rewind", { session_id, message_id, what, force });
        if (what !== "files") {
          tui.giveBack([{ message_id, seq: 0, text, attachments: [...attachments ?? []] }]);
        }
        break;
      }
      case "show_change": {
        const { path } = effect;
        const changed = await call("session.changed_file", { session_id, path });
        const { changedLines } = await import("./changed_file.ts");
        tui.showPage(`changes of ${cleanLine(path)}`, changedLines(path, changed));
        break;
      }
      case "save_key": {
        tui.notice("testing the key …");
        onChange();
        const { provider, key } = effect;
        try {
          await this.#useModelOf(await call("models.save_key", { provider, key }));
        } finally {
          tui.model.notice = undefined;
        }
        break;
      }
      case "login":
        await this.#login(effect.provider);
        break;
      case "find_models": {
        const ways = await call("models.providers", {});
        if (!ways.ready) tui.offerWays(ways);
        break;
      }
      case "open_session":
        // What is not there any more is no reason to leave what is.
        await call("session.get", { session_id: effect.session_id });
        this.#open(effect.session_id);
        break;
      case "new_session": {
        const { workdir, model, approval } = await call("session.get", { session_id });
        const started = await call("session.start", { workdir, model, approval });
        this.#open(started.session_id);
        break;
      }
    }
    onChange();
  }

  #open(session_id: string): void {
    const { onOpen, tui } = this.#parts;
    if (onOpen === undefined) tui.tell(`\`svc chat --session ${session_id}\` opens it`);
    else onOpen(session_id);
  }

  /**
   * Asks once what asked before of this kind has answered.
   *
   * @returns undefined if it failed, or if another is wanted by then: the menu goes without
   */
  async #last<T>(effect: PickerEffect, ask: () => Promise<T>): Promise<T | undefined> {
    const { type } = effect;
    this.#wanted.set(type, effect);
    await this.#running.get(type);
    if (this.#wanted.get(type) !== effect) return undefined;
    const asked = ask().catch(() => undefined);
    this.#running.set(type, asked);
    return await asked;
  }

  /** Fills the picker that is open. */
  async #fill(load: () => Promise<Choice[]>): Promise<void> {
    const { tui } = this.#parts;
    const picker = tui.model.picker;
    if (picker === undefined) return;
    try {
      await this.#showMore(tui.fillPicker(picker, await load()));
    } catch (error) {
      fail(picker, error);
    }
  }

  /** Loads what a picker shows beside its entries. */
  async #showMore(effects: readonly Effect[]): Promise<void> {
    for (const effect of effects) {
      if (isPickerEffect(effect)) await this.perform(effect);
    }
  }

  async #login(provider: string): Promise<void> {
    const { tui, call, onChange, onBrowse } = this.#parts;
    const { url } = await call("models.login", { provider });
    const opened = await onBrowse?.(url) ?? false;
    tui.tell(
      opened
        ? `agree to it in the browser; if none has opened: ${url}`
        : `open this address in a browser and agree to it: ${url}`,
    );
    onChange();
    await this.#useModelOf(await call("models.login_result", { provider }));
  }

  async #useModelOf({ provider, model, models_count }: Result<"models.save_key">): Promise<void> {
    const { tui, call } = this.#parts;
    tui.tell(cleanLine(`the key for ${provider} is saved; it can use ${models_count} models`));
    if (model === undefined) return;
    const session_id = tui.model.session.id;
    await call("session.configure", { session_id, model });
  }
}

function fail(picker: Picker, error: unknown): void {
  const hint = error instanceof SvcError && error.hint ? ` (${error.hint})` : "";
  Object.assign(picker, { problem: cleanLine(`${messageOf(error)}${hint}`), loading: false });
}
