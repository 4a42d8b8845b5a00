/** The transcript of the model: the visible items as entries. */
import { changeLines } from "../../base/edits/change_lines.ts";
import type { FileChange } from "../../base/edits/changes.ts";
import { callLine } from "../../base/call_line.ts";
import { withNames } from "../../models/toolbelt.ts";
import { type Attachment, messageLines } from "../../protocol/attachments.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { planIsOpen, type PlanStep, planText } from "../../protocol/plan_text.ts";
import {
  type Change,
  type Item,
  type NoteItem,
  type ToolItem,
  type ToolOutcome,
  type UserItem,
  View,
} from "../../session/view.ts";
import { callChanges, diffsOf } from "../../session/call_diffs.ts";
import { ViewList } from "../../session/view_list.ts";
import { settledText, thoughtText } from "../../session/view_text.ts";
import { doingOf } from "./call_words.ts";
import { addEntry, growEntry, removeEntry } from "./entries.ts";
import { remember } from "./history.ts";
import { TOOLBELT } from "./introduction.ts";
import { growLooked } from "./looks.ts";
import type { Entry, Model } from "./model.ts";
import { clean, cleanLine, limited } from "./text.ts";

/** Characters kept of a call's output. */
const OUTPUT_MAX = 32 * 1024;
const MAY_CONTINUE = "/continue continues the turn that was interrupted";
const PARKED = "/continue tries the parked turn again now";

export class Transcript {
  readonly #model: Model;
  readonly #named: (text: string) => string;
  #view = new View();
  readonly #entries = new WeakMap<Item, Entry>();

  /** @param named puts the name of this svc into the commands of a text. */
  constructor(model: Model, named: (text: string) => string = (text) => text) {
    this.#model = model;
    this.#named = named;
  }

  /** Takes the events so far, without what was withdrawn. */
  load(events: readonly SessionEvent[]): void {
    const list = new ViewList();
    for (const event of events) list.apply(event);
    this.#view = list.view;
    for (const item of list.items) this.#add(item);
  }

  apply(event: SessionEvent): void {
    for (const change of this.#view.apply(event)) this.#show(change);
  }

  #show(change: Change): void {
    switch (change.type) {
      case "added":
        this.#add(change.item);
        break;
      case "grew":
        this.#grow(change.item, change.text);
        break;
      case "changed":
        this.#change(change.item);
        break;
      case "removed":
        removeEntry(this.#model, this.#entries.get(change.item)?.id);
        break;
      case "asked":
        setAsked(this.#entries.get(change.item), true);
        break;
      case "settled":
        setAsked(this.#entries.get(change.item), false);
        // While it waits it stands above the message being typed.
        if (change.item.kind === "question") {
          addEntry(this.#model, "note", clean(settledText(change.item)));
        }
        break;
      case "plan":
        setPlan(this.#model, change.steps);
        break;
    }
  }

  #add(item: Item): void {
    const model = this.#model;
    switch (item.kind) {
      case "user":
        this.#entries.set(item, confirmMessage(model, item));
        break;
      case "text":
      case "thought":
        this.#grow(item, item.text);
        break;
      case "tool": {
        const { call_id, tool, args } = item;
        const entry = addEntry(model, "call", cleanLine(callLine(tool, args)), {
          call_id,
          tool,
          doing: doingOf(tool, args),
        });
        setChanges(entry, item);
        this.#entries.set(item, entry);
        this.#change(item);
        break;
      }
      case "note":
        this.#entries.set(item, addEntry(model, kindOf(item), this.#noteText(item)));
        if (item.may_continue) model.notice = noticeOf(item);
        break;
    }
  }

  /** Adds text to an entry; line breaks alone do not begin one. */
  #grow(item: Extract<Change, { type: "grew" }>["item"], text: string): void {
    const entry = this.#entries.get(item);
    const shown = withNames(text, this.#named);
    if (entry !== undefined) return growEntry(entry, clean(shown, entry.lines.at(-1)));
    const begun = clean(withNames(item.text, this.#named)).replace(/^\n+/, "");
    const kind = item.kind === "text" ? "assistant" : "thought";
    if (begun === "") return;
    const plain = this.#model.session.model === TOOLBELT;
    this.#entries.set(item, addEntry(this.#model, kind, begun, plain ? { plain } : {}));
  }

  #noteText({ text }: NoteItem): string {
    return clean(this.#named(text));
  }

  #change(item: Item): void {
    const entry = this.#entries.get(item);
    if (entry === undefined) return;
    switch (item.kind) {
      case "user":
        setWaits(entry, item);
        break;
      case "thought": {
        const took = thoughtText(item);
        if (took !== undefined) growEntry(entry, `\n(${took})`);
        entry.took = took ?? "";
        break;
      }
      case "tool":
        if (entry.edit_lines! > 0) setChanges(entry, item);
        showOutcome(entry, item.outcome);
        break;
      case "note":
        setLines(entry, this.#noteText(item).split("\n"));
        if (!item.may_continue && this.#model.notice === noticeOf(item)) {
          this.#model.notice = undefined;
        }
        break;
    }
  }
}

function noticeOf({ parked_until }: NoteItem): string {
  return parked_until === undefined ? MAY_CONTINUE : PARKED;
}

function kindOf({ tone }: NoteItem): Entry["kind"] {
  return tone === "error" ? "problem" : "note";
}

/** Shows a plan while a step of it is open. */
export function setPlan(model: Model, steps: readonly PlanStep[]): void {
  model.plan = planIsOpen(steps) ? planText(steps).split("\n").map((it) => cleanLine(it)) : [];
}

/** Adds a message of the person to the transcript and the history. */
export function addMessage(
  model: Model,
  text: string,
  { client_message_id, attachments }: {
    client_message_id?: string;
    attachments?: readonly Attachment[];
  } = {},
): Entry {
  remember(model, text);
  return addEntry(model, "user", clean(messageLines(text, attachments)), { client_message_id });
}

/** Confirms a message that the daemon has; one typed here is already shown. */
function confirmMessage(model: Model, item: UserItem): Entry {
  const { client_message_id, text, attachments } = item;
  model.outbox = model.outbox.filter((it) => it.client_message_id !== client_message_id);
  const waiting = client_message_id === undefined
    ? undefined
    : model.entries.find((entry) => entry.client_message_id === client_message_id);
  const entry = waiting ?? addMessage(model, text, { attachments });
  entry.client_message_id = undefined;
  const { message_id } = item;
  if (message_id !== undefined) {
    entry.message = { message_id, text, ...attachments && { attachments } };
  }
  setWaits(entry, item);
  return entry;
}

function setWaits(entry: Entry, { waits, delivery }: UserItem): void {
  entry.waits = waits;
  entry.delivery = delivery;
  entry.epoch++;
}

/** Shows what a call changes in files: as its arguments say, then as its result records it. */
function setChanges(entry: Entry, item: ToolItem): void {
  const { changes, recorded } = callChanges(item);
  const lines = recorded ? recordedLines(changes) : changeLines(changes);
  const text = limited(clean(lines.join("\n")), OUTPUT_MAX);
  const shown = text === "" ? [] : text.split("\n");
  const output = entry.lines.slice(1 + (entry.edit_lines ?? 0));
  setLines(entry, [entry.lines[0], ...shown, ...output]);
  Object.assign(entry, { changes, recorded, edit_lines: shown.length });
}

function recordedLines(changes: readonly FileChange[]): string[] {
  return diffsOf({ changes, recorded: true }, clean).flatMap(({ path, sum, rows }) => [
    `${path}: ${sum}`,
    ...rows.map(({ mark, text }) => `${mark} ${text}`),
  ]);
}

/** Shows a call's result, or that it runs: one that was cut off continues with its turn. */
function showOutcome(entry: Entry, outcome: ToolOutcome | undefined): void {
  if (outcome?.ok === entry.ok) return;
  entry.ok = outcome?.ok;
  setLines(entry, entry.lines.slice(0, 1 + (entry.edit_lines ?? 0)));
  const { output = "", looks } = outcome ?? {};
  const text = output.trimEnd();
  entry.looks = undefined;
  if (text === "") return;
  growEntry(entry, "\n");
  if (looks !== undefined && text.length <= OUTPUT_MAX) return growLooked(entry, text, looks);
  growEntry(entry, limited(clean(text), OUTPUT_MAX));
}

function setAsked(entry: Entry | undefined, asked: boolean): void {
  if (entry === undefined) return;
  entry.asked = asked;
  entry.epoch++;
}

function setLines(entry: Entry, lines: string[]): void {
  entry.lines = lines;
  entry.size = lines.join("\n").length;
  entry.epoch++;
}
