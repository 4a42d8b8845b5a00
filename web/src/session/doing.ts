/** What an agent does, in words. */
import type { Item } from "../../../src/session/view.ts";
import { callSubject } from "./call.ts";

/** The word for what a tool does. */
const WORDS: Readonly<Record<string, string>> = {
  run_command: "Running",
  read_file: "Reading",
  list_dir: "Listing",
  glob: "Searching",
  grep: "Searching",
  edit_file: "Editing",
  write_file: "Writing",
  apply_patch: "Editing",
  fetch_url: "Fetching",
};

const SUBJECT_MAX = 80;

/** What is done now, by the last items of a conversation. */
export function doing(items: readonly Item[]): string {
  const open = items.findLast((it) => it.kind === "tool" && it.outcome === undefined);
  if (open?.kind === "tool") {
    if (open.asked?.waits) return "Waiting for you";
    const subject = callSubject(open.args).split("\n")[0].slice(0, SUBJECT_MAX);
    return `${WORDS[open.tool] ?? open.tool} ${subject}`.trimEnd();
  }
  const last = items.at(-1);
  if (last?.kind === "thought" && last.until === undefined) return "Thinking";
  if (last?.kind === "text") return "Writing";
  if (last?.kind === "question" && last.asked.waits) return "Waiting for you";
  if (last?.kind === "note" && last.topic === "answer") return "Trying again";
  return "Waiting for the model";
}
