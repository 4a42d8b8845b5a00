/** What a call that a person is asked about may do, in words for every face. */
import { exactLine } from "../base/visible.ts";
import type { CommandAccess } from "../protocol/command_access.ts";
import type { Question } from "./question.ts";

const RISKS: Readonly<Record<string, string>> = {
  connect: "the command can send there whatever it can read",
  fetch_url: "the server there sees the whole address, and what it answers goes to the model",
  git_push: "the repository changes in your name; the command does not see the credential",
  start_project_servers: "it starts the programs below, which the project names, not you",
  verify: "these are programs of the project, and can change files of the directory",
};

/** The rule of a tool server's tool. */
const OF_SERVER = / of tool server .+, as described now \(SHA-256 [0-9a-f]{64}\)$/;

/** Reports whether a question is about a tool of a tool server. */
export function isOfServer({ rule }: Pick<Question, "rule">): boolean {
  return OF_SERVER.test(rule);
}

/** Returns what a call may do, a clause each; nothing where only its tool knows. */
export function risksOf(question: Question): string[] {
  if (question.tool === "run_command") return commandRisks(question);
  const known = RISKS[question.tool];
  return [
    ...known === undefined ? [] : [known],
    ...isOfServer(question) ? ["svc cannot check or undo what the server does"] : [],
  ];
}

function commandRisks({ args, reason }: Question): string[] {
  const { outside_sandbox, network, paths = [] } = (args ?? {}) as CommandAccess;
  if (outside_sandbox || reason.includes("runs with all your rights")) {
    return ["it is in no sandbox: it can change all your files and use the network"];
  }
  return [
    "it can change and delete files in this session's directories",
    ...network ? ["it can send what it reads to the network"] : [],
    ...paths.map(({ path, access }) =>
      `it may ${access === "read" ? "read" : "read and change"} ${exactLine(path)}`
    ),
  ];
}
