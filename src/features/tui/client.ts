/** Keeps a {@linkcode Tui} in step with its session, over whatever reaches the daemon's verbs. */
import { messageOf, SvcError, wasAnswered } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import type { BusEvent } from "../../protocol/schemas/bus.ts";
import type { ThemeName } from "../../protocol/themes.ts";
import { shownDigest } from "../../session/question.ts";
import { FOUND_MAX, searchQuery } from "../chat_commands/earlier.ts";
import type { ExportCommand } from "../chat_commands/export_command.ts";
import { runSetting } from "../chat_commands/setting_command.ts";
import { NONE_QUEUED, stopTurn } from "../chat_commands/stop_turn.ts";
import { runTheme } from "../chat_commands/theme_command.ts";
import { runUndo } from "../chat_commands/undo_command.ts";
import { runVi } from "../chat_commands/vi_command.ts";
import type { CallVerb, Params, Result, VerbName } from "../verb_types.ts";
import { type Effect, isPickerEffect } from "./effect.ts";
import type { MessageFiles } from "./files.ts";
import { needsModel } from "./first_run.ts";
import type { PickerEffects } from "./picker_effects.ts";
import type { SessionDetail, Tui } from "./tui.ts";

/** An event that was pushed. */
export interface LinkEvent extends Omit<BusEvent, "bus_seq" | "data"> {
  // deno-lint-ignore no-explicit-any -- its shape depends on the type
  data: any;
}

/** A way to the daemon's verbs that can push. */
export interface Link {
  readonly call: CallVerb;
  onEvent: (event: LinkEvent) => void;
  /** A subscription ended by itself; without an error, because its session has ended. */
  onSubscriptionEnded: (error: SvcError | undefined) => void;
  /** Whether nothing more goes over it. */
  readonly lost: boolean;
}

/** What a client tells whoever owns it. */
export interface ClientEvents {
  /** The screen may look different. */
  onChange(): void;
  /** The conversation is there: a person waits for it. */
  onOpened?(): void;
  /** An effect that is not the daemon's business. */
  onOwn(effect: "quit" | "redraw" | "suspend" | "editor"): void;
  /** Shows another session, where there is a terminal. */
  onOpen?(session_id: string): void;
  /** Opens a page in the browser of the person. @returns whether one was started */
  onBrowse?(url: string): Promise<boolean>;
  /** Of a terminal of the person's own: its files. */
  readonly files?: MessageFiles;
  /** The person has chosen other colours. */
  onTheme?(name: ThemeName): void;
  /** Writes the conversation into a file, where there is a person to write it for. */
  onExport?(command: ExportCommand, call: CallVerb): Promise<string>;
}

/** Older messages of the person than this are left out when the conversation is loaded. */
const MESSAGES = 100;
/** Events that are asked for at once. */
const PAGE = 5_000;
/** Further behind than this, the conversation is loaded instead of every event. */
const BEHIND_MAX = 2_000;
/** When a search is repeated that could not look through all sessions yet. */
const INDEXING_MS = 1_000;
/** Deltas of a lane that are asked for. */
const LANE_DELTAS = 1_000;
/** Effects that need no daemon, and messages, which wait by themselves. */
const AT_ONCE: ReadonlySet<Effect["type"]> = new Set(
  ["send", "attach", "paste_image", "editor", "quit", "redraw", "suspend"] as const,
);

export class TuiClient {
  readonly tui: Tui;
  readonly #events: ClientEvents;
  #link: Link | undefined;
  #picker_effects: PickerEffects | undefined;
  /** The conversation was there for the first time. */
  readonly #opened = Promise.withResolvers<void>();
  /** Events that wait until the conversation is loaded again. */
  #held: LinkEvent[] | undefined;

  constructor(tui: Tui, events: ClientEvents) {
    this.tui = tui;
    this.#events = events;
  }

  /**
   * Goes on over a link: catches up, subscribes, and sends what was not confirmed.
   *
   * @throws {SvcError} when the session cannot be read, or the link breaks.
   */
  async open(link: Link): Promise<void> {
    const { model } = this.tui;
    this.#link = link;
    link.onEvent = (event) => this.#take(event);
    link.onSubscriptionEnded = (error) => this.#resubscribe(link, error);
    const detail: SessionDetail = await this.#call("session.get");
    if (model.seq === 0 || detail.last_seq - model.seq > BEHIND_MAX) await this.#load();
    await this.#subscribe();
    model.link = "connected";
    this.#opened.resolve();
    this.#events.onChange();
    this.#events.onOpened?.();
    // Where there is a person; a client of the verbs knows where to ask.
    if (this.#events.onOpen !== undefined && needsModel(model)) {
      void this.perform([{ type: "find_models" }]);
    }
    const waiting = model.outbox.map((message): Effect => ({ type: "send", ...message }));
    await this.perform(waiting);
  }

  /** The link is gone; {@linkcode open} is called when there is another. */
  close(): void {
    this.#link = undefined;
    this.tui.model.link = "reconnecting";
    this.#events.onChange();
  }

  /** Does what keys asked for. Resolves when the daemon has answered; problems are on the screen. */
  async perform(effects: readonly Effect[]): Promise<void> {
    this.#events.onChange();
    for (const effect of effects) {
      // What is typed before the conversation is there is done, and told, after that.
      if (!AT_ONCE.has(effect.type)) await this.#opened.promise;
      try {
        await this.#perform(effect);
      } catch (error) {
        this.#complain(effect, error);
      }
    }
  }

  async #load(): Promise<void> {
    // What happens between the two is told again by the subscription, and changes nothing then.
    const events: SessionEvent[] = [];
    let seq = 0;
    for (let more = true, from: object = { from_last: MESSAGES }; more; from = { since_seq: seq }) {
      const page = await this.#call("session.history", { ...from, limit: PAGE, deltas: "session" });
      events.push(...page.events);
      ({ more, last_seq: seq } = page);
    }
    this.tui.load(await this.#call("session.get"), { events, seq });
  }

  /** Shows the conversation without what was taken back; what happens meanwhile waits. */
  async #loadRewound(): Promise<void> {
    this.#held = [];
    try {
      await this.#load();
    } catch (error) {
      this.tui.complain(messageOf(error));
    }
    const held = this.#held;
    this.#held = undefined;
    for (const each of held) this.#take(each);
    this.#events.onChange();
  }

  async #subscribe(): Promise<void> {
    const { model } = this.tui;
    try {
      await this.#call("session.subscribe", { since_seq: model.seq, deltas: "session" });
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== "journal_trimmed") throw error;
      await this.#load();
      await this.#call("session.subscribe", { since_seq: model.seq, deltas: "session" });
    }
  }

  /** A subscriber that fell behind subscribes again; a daemon that stops closes the link itself. */
  async #resubscribe(link: Link, error: SvcError | undefined): Promise<void> {
    if (error === undefined || error.code === "shutting_down" || link !== this.#link) return;
    try {
      if (error.code === "journal_trimmed") await this.#load();
      await this.#subscribe();
    } catch (failed) {
      if (!link.lost) this.tui.complain(messageOf(failed));
    }
    this.#events.onChange();
  }

  #take(event: LinkEvent): void {
    if (event.session_id !== this.tui.model.session.id || event.seq === undefined) return;
    if (this.#held !== undefined) {
      this.#held.push(event);
      return;
    }
    const { type, data } = event as SessionEvent;
    if (type === "session.rewound" && data.conversation !== undefined) this.#loadRewound();
    this.tui.apply(event as SessionEvent);
    this.#events.onChange();
  }

  /** Calls a verb about the session. */
  #call<N extends VerbName>(
    method: N,
    params: Omit<Params<N>, "session_id"> = {} as Omit<Params<N>, "session_id">,
  ): Promise<Result<N>> {
    const whole = { session_id: this.tui.model.session.id, ...params };
    return this.#ask(method, whole as Params<N>);
  }

  readonly #ask: CallVerb = (method, params) => {
    if (this.#link === undefined) {
      return Promise.reject(new SvcError("internal", "not connected to the daemon"));
    }
    return this.#link.call(method, params);
  };

  async #perform(effect: Effect): Promise<void> {
    if (isPickerEffect(effect)) return await (await this.#pickers()).perform(effect);
    switch (effect.type) {
      case "send": {
        const { text, client_message_id, delivery, files, run } = effect;
        if (this.#link === undefined) return;
        if (run) {
          const command = { text: text.slice(1), client_message_id, run };
          const { seq } = await this.#call("session.send", command);
          this.tui.sent(client_message_id, seq);
          return this.#events.onChange();
        }
        const { text: message } = /^\\?\//.test(text)
          ? await this.#call("commands.expand", { text })
          : effect;
        const attachments = files?.flatMap((key) => this.#events.files?.get(key) ?? []);
        const sent = {
          text: message,
          client_message_id,
          ...delivery && { delivery },
          ...attachments && { attachments },
        };
        const { seq } = await this.#call("session.send", sent);
        this.tui.sent(client_message_id, seq);
        return this.#events.onChange();
      }
      case "approve": {
        const { approval_id, decision, question, always, message } = effect;
        const shown = await shownDigest(question);
        await this.#call("session.approve", { approval_id, decision, shown, always, message });
        return;
      }
      case "answer": {
        const { approval_id, answer = { unanswered: "declined" as const }, question } = effect;
        const shown = await shownDigest(question);
        await this.#call("session.answer", { approval_id, ...answer, shown });
        return;
      }
      case "cancel": {
        const { id } = this.tui.model.session;
        return await stopTurn(this.#ask, id, (messages) => {
          this.tui.giveBack(messages);
          this.#events.onChange();
        });
      }
      case "withdraw": {
        const { messages } = await this.#call("session.withdraw");
        if (messages.length === 0) this.tui.notice(NONE_QUEUED);
        else this.tui.giveBack(messages);
        return this.#events.onChange();
      }
      case "continue":
      case "pause":
      case "resume":
      case "kill":
        await this.#call(`session.${effect.type}`);
        return;
      case "compact": {
        const { compacted } = await this.#call("session.compact");
        if (!compacted) this.tui.notice("there is nothing worth leaving out of the conversation");
        return this.#events.onChange();
      }
      case "setting": {
        const { id } = this.tui.model.session;
        const said = await runSetting(effect.command, id, this.#ask);
        if (said !== undefined) this.tui.tell(said);
        return this.#events.onChange();
      }
      case "theme": {
        const { said, theme } = await runTheme(effect.name, this.#ask);
        this.tui.tell(said);
        this.#events.onTheme?.(theme);
        return this.#events.onChange();
      }
      case "vi": {
        const { said, on } = await runVi(effect.value, this.#ask);
        this.tui.useVi(on);
        this.tui.tell(said);
        return this.#events.onChange();
      }
      case "undo": {
        const { id } = this.tui.model.session;
        const said = await runUndo(effect.command, id, this.#ask);
        if (said !== undefined) this.tui.tell(said);
        return this.#events.onChange();
      }
      case "export": {
        const { onExport } = this.#events;
        const said = onExport === undefined
          ? "/export writes a file only from a terminal of your own"
          : await onExport(effect.command, this.#ask);
        this.tui.tell(said);
        return this.#events.onChange();
      }
      case "kill_lane":
        await this.#call("lanes.kill", { lane_id: effect.lane_id });
        return;
      case "pin_lane": {
        const { lane_id, pinned } = effect;
        await this.#call("lanes.pin", { lane_id, pinned });
        return;
      }
      case "attach":
        this.tui.attachPasted(effect.pasted, this.#events.files);
        return this.#events.onChange();
      case "paste_image": {
        const found = await this.#events.files?.clipboard();
        if (found !== undefined) this.tui.addFile(found);
        return this.#events.onChange();
      }
      case "search":
        return await this.#search(effect.query);
      case "take_found": {
        const { session_id, seq } = effect;
        const about = { session_id, since_seq: seq - 1, limit: 1 };
        const { events: [event] } = await this.#ask("session.history", about);
        const text = (event as SessionEvent | undefined)?.data;
        if (text !== undefined && "text" in text) this.tui.takeFound(String(text.text));
        return this.#events.onChange();
      }
      case "load_commands": {
        const { commands } = await this.#call("commands.list");
        this.tui.loadCommands(commands);
        return this.#events.onChange();
      }
      case "load_lane": {
        const { lane_id } = effect;
        const { deltas } = await this.#call("lanes.get", { lane_id, tail: LANE_DELTAS });
        this.tui.loadLane(lane_id, deltas);
        return this.#events.onChange();
      }
      default:
        this.#events.onOwn(effect.type);
    }
  }

  async #pickers(): Promise<PickerEffects> {
    const { PickerEffects } = await import("./picker_effects.ts");
    const { onChange, onOpen, onBrowse } = this.#events;
    return this.#picker_effects ??= new PickerEffects({
      tui: this.tui,
      call: this.#ask,
      onChange,
      onOpen,
      onBrowse,
    });
  }

  /** Looks for what the person said; only the newest question is answered. */
  async #search(query: string): Promise<void> {
    const { model } = this.tui;
    const asked = searchQuery(query);
    const { workdir } = model.session;
    const here = { query: asked, who: "person", limit: FOUND_MAX } as const;
    let pending = 0;
    for (const where of [{ workdir }, {}]) {
      const { results, pending_sessions } = await this.#ask("session.search", {
        ...here,
        ...where,
      });
      if (model.search?.query !== query) return;
      this.tui.addFound(results, "workdir" in where);
      this.#events.onChange();
      pending = pending_sessions;
    }
    // The first search reads what was said so far.
    if (pending > 0) setTimeout(() => this.#searchAgain(query), INDEXING_MS);
  }

  #searchAgain(query: string): void {
    const asked = this.tui.model.search?.query === query && this.#link !== undefined;
    if (asked) void this.perform([{ type: "search", query }]);
  }

  #complain(effect: Effect, error: unknown): void {
    // A message that was on its way is sent again over the next link.
    if (effect.type === "send" && (this.#link === undefined || this.#link.lost)) return;
    if (effect.type === "send") this.tui.takeBack(effect.client_message_id);
    if (wasAnswered(error)) {
      this.tui.tell(messageOf(error));
      return this.#events.onChange();
    }
    if (effect.type === "approve" || effect.type === "answer") this.tui.reopen(effect.approval_id);
    const hint = error instanceof SvcError && error.hint ? ` (${error.hint})` : "";
    this.tui.complain(`${messageOf(error)}${hint}`);
    this.#events.onChange();
  }
}
