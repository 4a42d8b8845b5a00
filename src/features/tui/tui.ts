/** The terminal UI without a terminal: a session's model, its screen and its keys. */
import type * as z from "zod";
import type { SessionEvent } from "../../protocol/events.ts";
import { attachmentLine } from "../../protocol/attachments.ts";
import { laneEnded } from "../../session/state_steps.ts";
import type { Result } from "../verb_types.ts";
import { typedAgain, type Withdrawn } from "../chat_commands/stop_turn.ts";
import { SvcError } from "../../protocol/errors.ts";
import { arrange, type Size } from "./arrange.ts";
import { addApproval, applyToApprovals } from "./approvals.ts";
import type { Token } from "../../base/mention.ts";
import type { Suggestion } from "../chat_commands/suggestions.ts";
import { addEntry, newEntry } from "./entries.ts";
import { needsModel, offerWays } from "./first_run.ts";
import { introduction } from "./introduction.ts";
import { expanded, markedFrom, sizeOf } from "./chips.ts";
import { INPUT_MAX, insertMarked, markedAgain, setMarked, written } from "./input.ts";
import { undo } from "./input_undo.ts";
import { addFile, attachPasted, type FoundFile, type MessageFiles } from "./files.ts";
import type { Pasted } from "./pasted_paths.ts";
import type { Key } from "./keys.ts";
import { remember } from "./history.ts";
import { applyToLanes, type LaneDelta, laneView, loadBefore } from "./lanes.ts";
import type { ColourCode } from "./diff_layout.ts";
import { type LayMarkdown, Layouts } from "./layout.ts";
import { type ApprovalView, emptyModel, type Entry, type Model } from "./model.ts";
import { endSuggestions, takeSuggestions } from "./menu.ts";
import { type Choice, type Picker } from "./picker.ts";
import { type Point, point } from "./point.ts";
import { previewEffects } from "./picker_keys.ts";
import { outline } from "./outline.ts";
import type { Effect } from "./effect.ts";
import { press, showLane } from "./keymap.ts";
import { applyToCommands, setCommands } from "./panels.ts";
import { render, type Screen, showsQuestion } from "./render.ts";
import { addFound, type FoundResult } from "./search.ts";
import { applyToSession } from "./session_events.ts";
import { clean, cleanLine, lineText } from "./text.ts";
import type { snapshotSchema } from "./schemas.ts";
import { applyToTurn, works } from "./turn.ts";
import { useVi } from "./vi.ts";
import { setPlan, Transcript } from "./transcript.ts";

/** The shown part of session.get. */
export type SessionDetail =
  & Pick<
    Result<"session.get">,
    | "title"
    | "workdir"
    | "model"
    | "approval"
    | "effort"
    | "state"
    | "activity"
    | "cost_usd"
    | "context"
    | "plan"
    | "last_seq"
    | "lanes"
    | "parked_until"
    | "pending_approvals"
  >
  & /** Older daemons give none. */ Partial<Pick<Result<"session.get">, "background">>;

/** The result of session.history. */
export interface History {
  events: readonly SessionEvent[];
  /** The last seq that they include. */
  seq: number;
}

/** Lines of a page, and which of them are lines of a difference. */
export interface PageText {
  lines: readonly string[];
  diffs: NonNullable<Entry["diffs"]>;
}

export type Snapshot = z.output<ReturnType<typeof snapshotSchema>>;

export class Tui {
  readonly model: Model;
  readonly #layouts = new Layouts();
  readonly #newId: () => string;
  readonly #named: (text: string) => string;
  /** Whether nothing may move by itself. */
  reduced_motion = false;
  /** Whether the person looks at the screen, as far as the terminal tells. */
  focused = true;
  #transcript: Transcript;
  #size: Size;

  /**
   * @param newId creates a client_message_id.
   * @param named puts the name of this svc into the commands of a text.
   */
  constructor(
    session_id: string,
    size: Size,
    newId: () => string,
    named: (text: string) => string = (text) => text,
  ) {
    this.model = emptyModel(session_id);
    this.#named = named;
    this.#transcript = new Transcript(this.model, named);
    this.#newId = newId;
    this.#size = size;
  }

  /** Lays out answers as Markdown from now on. */
  useMarkdown(lay: LayMarkdown, colour?: ColourCode): void {
    this.#layouts.useMarkdown(lay, colour);
  }

  get size(): Size {
    return this.#size;
  }

  set size({ cols, rows }: Size) {
    this.#size = { cols: Math.max(cols, 1), rows: Math.max(rows, 1) };
  }

  /** Starts again from the daemon's data; a message being typed and unconfirmed ones stay. */
  load(detail: SessionDetail, { events, seq }: History): void {
    const { model } = this;
    const { input, outbox, vi, history, picker, secret, menu, menu_closed } = model;
    const { home, folded, session: { branch } } = model;
    Object.assign(model, emptyModel(model.session.id), {
      next_entry: model.next_entry,
      link: model.link,
      home,
      folded,
      seq,
      cost_seq: detail.last_seq,
      cut: (events[0]?.seq ?? 1) > 1,
      input,
      outbox,
      picker,
      secret,
      menu,
      menu_closed,
      vi,
    });
    Object.assign(model.session, {
      title: cleanLine(detail.title),
      workdir: cleanLine(detail.workdir),
      model: cleanLine(detail.model),
      approval: detail.approval,
      effort: detail.effort,
      branch,
      state: detail.state,
      turn: detail.activity !== "idle",
      parked_until: detail.parked_until,
      cost_usd: detail.cost_usd,
      context: detail.context,
    });
    // Older daemons give none.
    setPlan(model, detail.plan ?? []);
    // With what was cleared here, which no event tells.
    for (const text of history) remember(model, text);
    if (model.cut) addEntry(model, "note", "older messages are in the journal");
    this.#transcript = new Transcript(model, this.#named);
    this.#transcript.load(events);
    for (const event of events) {
      applyToCommands(model, event);
      applyToTurn(model, event);
    }
    if (!model.session.turn) model.turn = undefined;
    if (detail.background !== undefined) setCommands(model, detail.background);
    for (const { text, client_message_id } of model.outbox) {
      addEntry(model, "user", clean(text), { client_message_id });
    }
    for (const lane of detail.lanes) {
      if (lane.pinned || !laneEnded(lane)) model.lanes.push(laneView(model, lane));
    }
    for (const approval of detail.pending_approvals) addApproval(model, approval);
    if (model.entries.length === 0) {
      const { id } = addEntry(model, "note", this.#named(introduction(model.session.model)));
      model.scroll = { entry: id, row: 0 };
    }
  }

  /** Applies an event of the session, unless it was seen before. */
  apply(event: SessionEvent): void {
    const { model } = this;
    if (event.seq <= model.seq) return;
    model.seq = event.seq;
    applyToSession(model, event);
    applyToLanes(model, event);
    applyToApprovals(model, event);
    applyToCommands(model, event);
    applyToTurn(model, event);
    this.#transcript.apply(event);
  }

  /** Takes a key. @returns the resulting actions, in order. */
  press(key: Key): Effect[] {
    const { view } = arrange(this.model, this.#size, this.#layouts);
    return press(this.model, key, { view, newId: this.#newId, named: this.#named });
  }

  /** Takes a click, or a turn of the wheel. @returns the resulting actions, in order. */
  point(at: Point): Effect[] {
    const parts = arrange(this.model, this.#size, this.#layouts);
    const context = { view: parts.view, newId: this.#newId, named: this.#named };
    return point(this.model, at, parts, context);
  }

  /** Shows a lane. @throws {SvcError} not_found for an unknown id. */
  focusLane(lane_id: string): Effect[] {
    if (!this.model.lanes.some((lane) => lane.lane_id === lane_id)) {
      throw new SvcError("not_found", `lane ${lane_id} is not shown`, {
        hint: "lanes.list shows the lanes",
      });
    }
    if (this.model.lanes.length > 1) this.model.focus = "lanes";
    return showLane(this.model, lane_id);
  }

  /** Takes a lane's output, of which only the part before its view began is new. */
  loadLane(
    lane_id: string,
    deltas: readonly (LaneDelta & { delta_seq: number })[],
  ): void {
    const lane = this.model.lanes.find((it) => it.lane_id === lane_id);
    if (lane === undefined) return;
    const before = deltas.filter(({ delta_seq }) => delta_seq < lane.from_delta);
    lane.from_delta = 1;
    loadBefore(lane, before);
  }

  /** Takes the commands from files for the help. */
  loadCommands(
    commands: readonly { name: string; argument_hint?: string; description: string }[],
  ): void {
    this.model.commands = commands.map(({ name, argument_hint = "", description }) =>
      cleanLine(`${`/${name} ${argument_hint}`.trimEnd()}   ${description}`)
    );
  }

  /** The daemon has a message as event `seq`; one seen before is in the conversation. */
  sent(client_message_id: string, seq: number): void {
    if (seq <= this.model.seq) this.#dropWaiting(client_message_id);
  }

  /** Offers a refused message for editing, unless another is being typed. */
  takeBack(client_message_id: string): void {
    const refused = this.#dropWaiting(client_message_id);
    const { input } = this.model;
    if (refused !== undefined && input.text === "") {
      insertMarked(input, markedAgain(input, refused));
    }
  }

  /** Puts withdrawn messages in front of what is being typed. */
  giveBack(messages: readonly Withdrawn[]): void {
    const { input } = this.model;
    const again = messages.map((it) => ({ ...it, text: markedAgain(input, it.text) }));
    setMarked(input, typedAgain(again, input.text));
    input.recalled = undefined;
    if (sizeOf(input) > INPUT_MAX) {
      undo(input);
      this.notice("the queued messages are too long for one message; Up has them");
    }
    const known = new Set(input.sent.map(({ text }) => text));
    const lost = messages.filter(({ text }) => !known.has(text));
    const files = lost.flatMap(({ attachments = [] }) => attachments);
    if (files.length > 0) {
      this.tell(`these are not sent again: ${files.map((it) => attachmentLine(it)).join(" ")}`);
    }
  }

  /** Returns what the person is writing, for other terminals and pages. */
  written(): string {
    return written(this.model);
  }

  /** Shows what was written elsewhere, in place of what stands here. */
  showDraft(text: string): void {
    const { input } = this.model;
    setMarked(input, markedAgain(input, text));
    input.recalled = input.aside = undefined;
  }

  /** Keeps what was left unsent before for Up: something else is being typed. */
  keepDraft(text: string): void {
    remember(this.model, text);
    this.model.input.aside = text;
  }

  /** Says that there is an earlier draft, if there is one. */
  tellOfDraft(): void {
    if (this.model.input.aside !== undefined) this.tell("an earlier draft waits: Up brings it");
  }

  /** Shows messages that a search has found. @param first whether they are its first */
  addFound(results: readonly FoundResult[], first: boolean): void {
    if (this.model.search !== undefined) addFound(this.model.search, results, first);
  }

  /** Begins to use the keys of vi, or no longer. */
  useVi(on: boolean): void {
    if (on !== (this.model.vi !== undefined)) useVi(this.model, on);
  }

  /** Puts files in the place of their pasted paths. */
  attachPasted(pasted: Pasted, files: MessageFiles | undefined): void {
    if (files !== undefined) attachPasted(this.model, pasted, (path) => files.read(path));
  }

  /** Puts a file at the cursor, or says why not. */
  addFile(found: FoundFile): void {
    addFile(this.model, found);
  }

  /** Takes an earlier message in place of what was typed. */
  takeFound(text: string): void {
    this.showDraft(text);
    this.model.focus = "input";
  }

  /** Returns the message with all that was pasted, for an editor. */
  textToEdit(): string {
    const { input } = this.model;
    return expanded(input, input.text);
  }

  /** Takes the message from an editor. */
  takeEdited(text: string): void {
    const { input } = this.model;
    if (text === this.textToEdit()) return;
    setMarked(input, markedFrom(input, text));
    this.model.focus = "input";
  }

  /** Removes an unconfirmed message from the screen. @returns its text. */
  #dropWaiting(client_message_id: string): string | undefined {
    const { model } = this;
    const waiting = model.outbox.find((it) => it.client_message_id === client_message_id);
    if (waiting === undefined) return undefined;
    model.outbox = model.outbox.filter((it) => it !== waiting);
    model.entries = model.entries.filter((it) => it.client_message_id !== client_message_id);
    return waiting.text;
  }

  /** Takes what completes a word; undefined if that cannot be found out. */
  suggest(token: Token, options: readonly Suggestion[] | undefined): void {
    if (options === undefined) endSuggestions(this.model, token);
    else takeSuggestions(this.model, token, options);
  }

  /** Takes the entries of a picker, unless it is closed by now. @returns what it shows beside them */
  fillPicker(picker: Picker, choices: readonly Choice[]): Effect[] {
    if (this.model.picker !== picker) return [];
    // What was typed before they were there has chosen among those that fit it.
    const now = picker.query === "" ? choices.findIndex(({ current }) => current) : 0;
    const at = Math.max(now, 0);
    Object.assign(picker, { choices, at, loading: false });
    return previewEffects(this.model);
  }

  /** Offers the ways to a model, unless something was said meanwhile. */
  offerWays(ways: Result<"models.providers">): void {
    if (needsModel(this.model)) offerWays(this.model, ways, this.#named);
  }

  /** Shows lines in place of the transcript. */
  showPage(title: string, { lines, diffs }: PageText): void {
    const entry = newEntry(this.model, "approval", lines.join("\n"), { diffs });
    this.model.page = { title, entry };
    this.model.scroll = { entry: entry.id, row: 0 };
    this.model.focus = "input";
  }

  /** The question was visible long enough to be answered. */
  arm(): void {
    const [approval] = this.model.approvals;
    if (approval !== undefined) approval.armed = true;
  }

  /** The daemon did not take an answer: the question is open again. */
  reopen(approval_id: string): void {
    const approval = this.model.approvals.find((it) => it.approval_id === approval_id);
    if (approval !== undefined) approval.answered = false;
  }

  /** Shows a text in the status line. */
  notice(text: string): void {
    this.model.notice = text;
  }

  /** Adds a note to the transcript. */
  tell(text: string): void {
    addEntry(this.model, "note", clean(this.#named(text)));
  }

  /** Adds a problem to the transcript. */
  complain(message: string): void {
    addEntry(this.model, "problem", clean(this.#named(message)));
  }

  /** The question that is on the screen, if one is. */
  get shownQuestion(): ApprovalView | undefined {
    return this.model.picker === undefined ? this.model.approvals[0] : undefined;
  }

  /** Draws the screen. A question that is all on it counts as read. */
  screen(): Screen {
    const [approval] = this.model.approvals;
    if (approval?.read === false) {
      approval.read = showsQuestion(this.model, this.#size, this.#layouts);
    }
    return render(this.model, this.#size, this.#layouts, this.moves);
  }

  /** Whether the screen changes with time alone: while a turn works, and somebody looks. */
  get moves(): boolean {
    return this.focused && !this.reduced_motion && works(this.model);
  }

  /** The time has gone on. @param now_ms milliseconds since 1970 */
  tick(now_ms: number): void {
    this.model.now = Math.max(this.model.now, now_ms);
  }

  /** The screen as text and as an outline. */
  snapshot(): Snapshot {
    const { focus, seq } = this.model;
    const view = this.screen().lines.map((it) => lineText(it).trimEnd()).join("\n");
    return { view, tree: outline(this.model, this.#size, this.#layouts), focus, seq };
  }
}
