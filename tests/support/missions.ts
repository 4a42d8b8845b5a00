/** A mission with everything in it, and a model that carries it out by what it is told. */
import type { Message } from "../../src/models/model.ts";
import { isUnknown } from "./cut_model.ts";
import type { Answer, ParsedRequest, Scripted } from "./model_servers.ts";

/**
 * Six tasks in two sessions: `left` and `right` rewrite the same line and so conflict; `sum` is
 * wrong until it is repaired. Criteria of all four kinds.
 */
export const SPEC = {
  id: "demo",
  name: "Demo",
  sessions: [{
    id: "s1",
    title: "Words",
    tasks: [
      { id: "base", description: "Write shared.txt with one line: both." },
      { id: "left", description: "Put left into shared.txt.", dependencies: ["base"] },
      { id: "right", description: "Put right into shared.txt.", dependencies: ["base"] },
      {
        id: "join",
        description: "Copy shared.txt to join.txt.",
        dependencies: ["left", "right"],
        files: ["join.txt"],
      },
    ],
    acceptance_criteria: [
      { id: "there", description: "join.txt is there", file_exists: "join.txt" },
      {
        id: "both",
        description: "join.txt has both words",
        content_match: { file: "join.txt", pattern: "^left right$" },
      },
      { id: "judged", description: "The words are in the right order." },
    ],
  }, {
    id: "s2",
    title: "Numbers",
    tasks: [
      { id: "sum", description: "Write sum.sh, which adds two numbers." },
      { id: "notes", description: "Write notes.txt.", dependencies: ["join"] },
    ],
    acceptance_criteria: [
      {
        id: "adds",
        description: "sum.sh adds",
        command: 'got=$(sh sum.sh 2 3); [ "$got" = 5 ] || { echo "1 failed: got $got"; exit 1; }',
      },
    ],
  }],
};

const BOTH = "left right\n";

/** What the tasks of {@linkcode SPEC} leave. */
export const RESULT: Record<string, string> = {
  "shared.txt": BOTH,
  "join.txt": BOTH,
  "sum.sh": "echo $(($1 + $2))\n",
  "notes.txt": "notes\n",
};

/** Carries out {@linkcode SPEC}; `begun` counts how often each task was told to a model. */
export class MissionModel {
  readonly begun = new Map<string, number>();
  /** Kinds of prompt that came: task, conflict, repair, judge, and what was not foreseen. */
  readonly asked: string[] = [];

  /** Resolves when both that are to conflict have begun from the same state. */
  readonly #both_begun = Promise.withResolvers<void>();

  readonly script: Scripted = async (request) => {
    const at = request.messages.findLastIndex(({ role }) => role === "user");
    const message = request.messages[at];
    const prompt = message?.role === "user" ? message.text : "";
    const { messages, next } = madeSure(request.messages.slice(at + 1));
    const answer = next ?? this.#answer(prompt, messages.length, { ...request, messages });
    if (/^# Task (?:left|right) /.test(prompt)) await this.#both_begun.promise;
    return answer;
  };

  /** Counts a task as begun, also one that another script carries out. */
  countBegun(task: string): void {
    this.begun.set(task, (this.begun.get(task) ?? 0) + 1);
    if (this.begun.has("left") && this.begun.has("right")) this.#both_begun.resolve();
  }

  #answer(prompt: string, step: number, request: ParsedRequest): Answer {
    const [, task] = /^# Task (\S+) of the mission/.exec(prompt) ?? [];
    if (task !== undefined) return this.#task(task, step, request);
    if (step === 0) this.asked.push(kindOf(prompt));
    if (prompt.includes("these files conflict")) {
      // The merge has changed it: what was not read since is not overwritten.
      if (step === 0) return READ_SHARED;
      return step === 2 ? write("shared.txt", BOTH) : { text: "Resolved." };
    }
    if (prompt.includes("The acceptance criterion adds fails")) {
      return step === 0 ? write("sum.sh", RESULT["sum.sh"]) : { text: "Mended." };
    }
    if (prompt.startsWith("# Judge")) return { text: "I looked.\nPASS they are" };
    return { text: "I do not know." };
  }

  #task(task: string, step: number, { messages }: ParsedRequest): Answer {
    if (step === 0) this.countBegun(task);
    const last = messages.at(-1);
    const read = last?.role === "tool" ? last.results[0].output : "";
    switch (task) {
      case "left":
      case "right":
        if (step === 0) return READ_SHARED;
        // One that begins again finds what the other has done meanwhile.
        if (step === 2) return write("shared.txt", read === "both\n" ? `${task}\n` : BOTH);
        break;
      case "join":
        if (step === 0) return READ_SHARED;
        if (step === 2) return write("join.txt", read);
        break;
      case "base":
        if (step === 0) return write("shared.txt", "both\n");
        break;
      case "sum":
        if (step === 0) return write("sum.sh", "echo $(($1 * $2))\n");
        break;
      case "notes":
        if (step === 0) return write("notes.txt", "notes\n");
        break;
    }
    return { text: `Task ${task} is done.` };
  }
}

/**
 * Leaves out how a write was made sure of that a kill cut off: the file is read, and written again
 * unless it is as it should be.
 *
 * @param messages those after a prompt
 * @returns `next`: what is to be done first
 */
function madeSure(messages: readonly Message[]): { messages: Message[]; next?: Answer } {
  const whole: Message[] = [];
  for (let at = 0; at < messages.length; at += 2) {
    const [said, told] = [messages[at], messages[at + 1]];
    const [call] = said.role === "assistant" ? said.calls ?? [] : [];
    const output = told?.role === "tool" ? told.results[0].output : "";
    if (call?.tool !== "write_file" || !isUnknown(output)) {
      whole.push(...messages.slice(at, at + 2));
      continue;
    }
    const { path, content } = call.args as { path: string; content: string };
    const looked = messages[at + 3];
    if (looked?.role !== "tool") return { messages: whole, next: read(path) };
    if (looked.results[0].output === content) {
      whole.push(said, looked);
      at += 2;
    } else if (messages.length <= at + 4) {
      return { messages: whole, next: write(path, content) };
    } else at += 2;
  }
  return { messages: whole };
}

const READ_SHARED = read("shared.txt");

function read(path: string): Answer {
  return { calls: [{ name: "read_file", args: { path } }] };
}

function kindOf(prompt: string): string {
  if (prompt.includes("these files conflict")) return "conflict";
  if (prompt.startsWith("# Judge")) return "judge";
  return /Fix the code/.test(prompt) ? "repair" : prompt;
}

function write(path: string, content: string): Answer {
  return { calls: [{ name: "write_file", args: { path, content } }] };
}
