/** A question about a call in a few words: what will be done, and what that may do. */
import { hasAllChanges } from "../../../src/base/edits/changes.ts";
import { exactLine } from "../../../src/base/visible.ts";
import { accessWords, type CommandAccess } from "../../../src/protocol/command_access.ts";
import type { Question } from "../../../src/session/question.ts";

export interface About {
  /** Asks for the decision. */
  head: string;
  /** What the call may do; undefined where nobody but its tool knows. */
  risk?: string;
}

/** What is asked, by the kind of call. */
export function aboutQuestion(question: Question): About {
  const { tool, rule } = question;
  switch (tool) {
    case "run_command":
      return command(question);
    case "apply_patch":
    case "edit_file":
    case "write_file":
      return files(question);
    case "fetch_url":
      return {
        head: "Fetch this address?",
        risk: "The server there sees the whole address, and what it answers goes to the model.",
      };
    case "connect":
      return {
        head: "Let the command connect?",
        risk: "The command can send there whatever it can read.",
      };
    case "git_push":
      return {
        head: "Push with your credential?",
        risk: "The repository changes in your name. The command does not see the credential.",
      };
    case "verify":
      return {
        head: "Run this project's checks?",
        risk: "They are programs of the project, and can change files of the directory.",
      };
    case "start_project_servers":
      return {
        head: "Start this project's tool servers?",
        risk: "It starts the programs below, which the project names, not you.",
      };
  }
  if (/ of tool server .+, as described now \(SHA-256 [0-9a-f]{64}\)$/.test(rule)) {
    return {
      head: "Call this tool of a server?",
      risk: "svc cannot check or undo what the server does.",
    };
  }
  return { head: "Allow this?" };
}

function command({ args, reason }: Question): About {
  const { background, command } = (args ?? {}) as { background?: unknown; command?: unknown };
  const head = background ? "Run this command in the background?" : "Run this command?";
  const beyond = accessWords(args);
  const [, notes] = aroundCommand(reason, String(command));
  if (beyond === "outside of the sandbox" || notes?.includes("runs with all your rights")) {
    return { head, risk: "It is in no sandbox: it can change all your files and use the network." };
  }
  const { network, paths = [] } = (args ?? {}) as CommandAccess;
  const writes = paths.some(({ access }) => access === "write");
  return {
    head,
    risk: "It can change and delete files in this session's directories" +
      (writes ? " and where it asks to." : ".") +
      (network ? " It can send whatever it reads." : ""),
  };
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
