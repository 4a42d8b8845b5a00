/**
 * The model of turns that are cut off. Which step it is follows from the conversation alone, and each
 * conversation that it is sent is checked: nothing is missing in it, doubled or in another place.
 */
import { assert, assertEquals } from "@std/assert";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import type { Message } from "../../src/models/model.ts";
import { asksForSummary } from "./forgetful.ts";
import { type Answer, saidIn, type Scripted, type ScriptedCall } from "./model_servers.ts";

/** The file that commands write to, the one that is edited, and the one that is read. */
export const OUT = "effects.txt";
export const LOG = "log.txt";
export const READ = "a.txt";
export const READ_LINE = "a line of the file that is read";
export const QUESTION = { A: "The person chose: A", B: "The person chose: B" };
/** Ends the file that is edited: each edit puts a line before it. */
export const LAST_LINE = "the last line";

const STEPS = 5;

/** The text of a step. */
export const words = (mark: string) => `words of ${mark} `.repeat(8);
export const NOTED = "noted";

/** What was asked for last, and how many of its steps are answered. */
interface At {
  task: string;
  step: number;
}

/** The calls of a step, each with a mark of its own. */
function callsOf({ task, step }: At): ScriptedCall[] {
  const id = (kind: string, n = 1) => `call_${kind}_${task}.${step}.${n}`;
  const command = (n: number, pause = "") => ({
    id: id("run", n),
    name: "run_command",
    args: { command: `${pause}echo ${task}.${step}.${n} >> ${OUT}; ${pause}echo done` },
  });
  const edit = {
    id: id("edit"),
    name: "edit_file",
    args: { path: LOG, old_text: LAST_LINE, new_text: `${task}.${step}\n${LAST_LINE}` },
  };
  const ask = {
    id: id("ask"),
    name: "ask_user",
    args: { question: `Which, ${task}?`, options: [{ label: "A" }, { label: "B" }] },
  };
  const read = { id: id("read"), name: "read_file", args: { path: READ } };
  switch (step) {
    case 0:
      return [read, command(1)];
    case 1:
      return [edit, command(1, "sleep 0.04; "), command(2)];
    case 2:
      return [ask];
    case 3:
      return [command(1), read];
    default:
      return [];
  }
}

function stepOf(messages: readonly Message[]): At {
  const at: At = { task: "0", step: 0 };
  for (const it of messages) {
    if (it.role === "user") {
      const said = saidIn(it.text) ?? it.text;
      const [, task, step] = /at (\S+), step (\d+)/.exec(it.text) ?? [];
      if (task !== undefined) Object.assign(at, { task, step: Number(step) });
      const [, asked] = /^task (\S+)$/m.exec(said) ?? [];
      // Those that a shortened conversation keeps are older than its summary.
      if (asked !== undefined && !before(asked, at.task)) {
        Object.assign(at, { task: asked, step: 0 });
      }
    } else if (it.role === "assistant") {
      const [, task, step] = /_(\d+)\.(\d+)\./.exec(it.calls[0]?.call_id ?? "") ?? [];
      if (task !== undefined) Object.assign(at, { task, step: Number(step) + 1 });
      else if (it.text.trim() === words(`${at.task}.${STEPS - 1}`).trim()) at.step = STEPS;
    }
  }
  return at;
}

const before = (one: string, other: string) => Number(one) <= Number(other);

/** What a conversation's requests have come to. */
export class CutModel {
  requests = 0;
  summaries = 0;
  /** How often a request was not the one before with something added: it was shortened. */
  shortened = 0;
  /** What was wrong with requests. */
  readonly problems: string[] = [];
  #last: string[] = [];

  readonly answer: Scripted = (request): Answer => {
    const { messages } = request;
    if (asksForSummary(request)) {
      this.summaries++;
      const { task, step } = stepOf(messages.slice(0, -1));
      return { text: Array(6).fill("In short. ").concat(`at ${task}, step ${step}`), pace_ms: 3 };
    }
    this.requests++;
    try {
      this.#check(messages);
    } catch (error) {
      this.problems.push((error as Error).message);
    }
    const at = stepOf(messages);
    const usage = { input: 1_000, output: 10 };
    if (at.step >= STEPS) return { text: [NOTED], usage };
    const text = [words(`${at.task}.${at.step}`)].flatMap((it) => it.match(/.{1,20}/g)!);
    return { text, pace_ms: 3, calls: callsOf(at), usage };
  };

  #check(messages: readonly Message[]): void {
    const texts = messages.map((it) => JSON.stringify(it));
    const extends_last = this.#last.every((it, n) => it === texts[n]);
    if (!extends_last) this.shortened++;
    this.#last = texts;
    const said = messages.flatMap((it) => it.role === "user" ? [saidIn(it.text) ?? ""] : [])
      .flatMap((text) => text.match(/^(?:task|also) \S+$/gm) ?? []);
    assertEquals(said.length, new Set(said).size, `a message twice: ${said.join(", ")}`);
    messages.forEach((it, n) => {
      if (it.role === "assistant") checkStep(it, messages[n + 1]);
    });
  }
}

type Assistant = Extract<Message, { role: "assistant" }>;

/** Holds a step of the conversation against what the model said, and its results against the calls. */
function checkStep({ text, calls }: Assistant, next: Message | undefined): void {
  if (calls.length === 0) {
    const [, mark = ""] = /^words of (\S+) /.exec(text) ?? [];
    assert([NOTED, words(mark).trim()].includes(text.trim()), `this was not said: ${text}`);
    return;
  }
  const [, task, step] = /_(\d+)\.(\d+)\./.exec(calls[0].call_id)!;
  const made = callsOf({ task, step: Number(step) }).map(({ id }) => id);
  assertEquals(calls.map(({ call_id }) => call_id), made);
  assertEquals(text.trim(), words(`${task}.${step}`).trim());
  assert(next?.role === "tool", `the calls ${made} have no results`);
  assertEquals(next.results.map(({ call_id }) => call_id), made);
  for (const { call_id, output } of next.results) {
    const fits = isLeftOut(output) || resultsOf(call_id).some((it) => it.test(output));
    assert(fits, `the result of ${call_id}: ${output}`);
  }
}

const isLeftOut = (output: string) => /left out/.test(output) && /read_earlier/.test(output);

/** What a call may have given. */
function resultsOf(call_id: string): RegExp[] {
  const unknown = new RegExp(`^(?:done\\n\\[)?${UNKNOWN_OUTCOME}\\]?$`);
  if (call_id.startsWith("call_read")) return [new RegExp(READ_LINE)];
  if (call_id.startsWith("call_ask")) {
    return Object.values(QUESTION).map((it) => new RegExp(`^${it}`));
  }
  if (call_id.startsWith("call_edit")) return [/log\.txt/, unknown];
  return [/^done$/, unknown];
}

/** Whether nobody can know what a call has done. */
export const isUnknown = (output: string) => output.includes(UNKNOWN_OUTCOME);
