/** A question about a call in a few words: what will be done, and what that may do. */
import { hasAllChanges } from "../../../src/base/edits/changes.ts";
import { exactLine } from "../../../src/base/visible.ts";
import type { Question } from "../../../src/session/question.ts";
import { isOfServer, risksOf } from "../../../src/session/question_risks.ts";

export interface About {
  /** Asks for the decision. */
  head: string;
  /** What the call may do; undefined where nobody but its tool knows. */
  risk?: string;
}

const HEADS: Readonly<Record<string, string>> = {
  connect: "Let the command connect?",
  fetch_url: "Fetch this address?",
  git_push: "Push with your credential?",
  start_project_servers: "Start this project's tool servers?",
  trust_directory: "Trust this directory?",
  verify: "Run this project's checks?",
};

/** What is asked, by the kind of call. */
export function aboutQuestion(question: Question): About {
  const { tool, args } = question;
  if (["apply_patch", "edit_file", "write_file"].includes(tool)) return files(question);
  const { background } = (args ?? {}) as { background?: unknown };
  const head = tool === "run_command"
    ? background ? "Run this command in the background?" : "Run this command?"
    : HEADS[tool] ?? (isOfServer(question) ? "Call this tool of a server?" : "Allow this?");
  const risks = risksOf(question)
    .map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`);
  return { head, ...risks.length > 0 && { risk: risks.join(" ") } };
}

function files({ tool, changes = [], args }: Question): About {
  const { content } = (args ?? {}) as { content?: unknown };
  if (changes.length === 0 || !hasAllChanges(changes)) {
    return {
      head: tool === "apply_patch" ? "Change these files?" : "Change this file?",
      ...typeof content === "string" && { risk: "A file that is there is replaced as a whole." },
    };
  }
  const by_path = Map.groupBy(changes, ({ path }) => path);
  const count = by_path.size;
  const deleted = changes.filter((it) => it.deleted).length;
  const is_new = changes.every(({ before, deleted }) => before === undefined && !deleted);
  const which = count === 1 ? "this file" : `these ${count} files`;
  if (deleted === count) return { head: `Delete ${which}?`, risk: "What is in it is gone." };
  if (is_new) return { head: `Create ${which}?` };
  if (tool === "write_file") {
    return { head: "Replace this file?", risk: "The whole file is replaced." };
  }
  return {
    head: `Change ${which}?`,
    ...deleted > 0 &&
      { risk: deleted === 1 ? "1 file is deleted." : `${deleted} files are deleted.` },
  };
}

/**
 * The reason of a question in one line, without what stands below it in full; undefined where that
 * is all it says.
 */
export function reasonLine(
  { args, reason }: Pick<Question, "args" | "reason">,
): string | undefined {
  const { command } = (args ?? {}) as { command?: unknown };
  if (typeof command !== "string") return exactLine(withoutArgs(reason, args));
  const [before, after] = aroundCommand(reason, command);
  if (before === "run " && after === "") return undefined;
  return exactLine(after === undefined ? before : `${before}this command${after}`);
}

/** A reason without the arguments as JSON, or the beginning of them. */
function withoutArgs(reason: string, args: unknown): string {
  const at = reason.indexOf(" with {");
  if (at < 0) return reason;
  const json = JSON.stringify(args);
  const rest = reason.slice(at + " with ".length);
  if (rest.startsWith(json)) return reason.slice(0, at) + rest.slice(json.length);
  const cut = rest.indexOf("…");
  return cut > 0 && json.startsWith(rest.slice(0, cut))
    ? reason.slice(0, at) + rest.slice(cut + 1)
    : reason;
}

/** What a reason says before and after its command; all of it before where it does not name it. */
function aroundCommand(reason: string, command: string): [before: string, after?: string] {
  const places = ["run ", "in the background ", ": "]
    .map((verb) => [reason.indexOf(verb + command), verb.length] as const)
    .filter(([at]) => at >= 0).sort(([a], [b]) => a - b);
  if (places.length === 0) return [reason];
  const [[at, length]] = places;
  return [reason.slice(0, at + length), reason.slice(at + length + command.length)];
}
