/** The commands of a chat, as they are typed. Loaded with the first one. */
import type { Params } from "../rpc/api.ts";
import { commandHelp } from "../../../src/features/chat_commands/command_help.ts";
import {
  exportCommand,
  exportedName,
  type ExportFormat,
} from "../../../src/features/chat_commands/export_command.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { parseAddDirectory } from "../../../src/protocol/added_directory.ts";
import type { Approval } from "../../../src/protocol/approval.ts";
import type { Delivery } from "../../../src/protocol/events.ts";
import { QUEUE_USAGE, queuedText } from "../../../src/features/chat_commands/queue_command.ts";
import {
  CHOICES,
  choiceText,
  isChoice,
  modelsText,
  runSetting,
  settingCommand,
} from "../../../src/features/chat_commands/setting_command.ts";
import { NONE_QUEUED, type Withdrawn } from "../../../src/features/chat_commands/stop_turn.ts";
import type { Place } from "../../../src/features/chat_commands/suggestions.ts";
import { runUndo, undoCommand } from "../../../src/features/chat_commands/undo_command.ts";
import { MODIFIER } from "../ui/keys.ts";

/** Commands that are one verb. */
const VERBS = {
  "/continue": "session.continue",
  "/kill": "session.kill",
  "/pause": "session.pause",
  "/resume": "session.resume",
} as const;

/** What to do in the page instead of what terminals have. */
const INSTEAD: Readonly<Record<string, string>> = {
  "/sessions": "The list has them; Ctrl-K goes to one.",
  "/theme": "The theme is chosen in the settings.",
  "/vi": "The keys of vi are for terminals.",
  "/quit": "Close the page to leave; the session continues in the daemon.",
};

/** What commands do to the page. */
export interface PageActs {
  /** Cancels the turn. */
  stop(): Promise<void>;
  /** Puts messages that were taken back into the composer. */
  giveBack(messages: readonly Withdrawn[]): void;
  /** Saves the conversation. */
  save(name: string, format: ExportFormat): Promise<void>;
  /** Goes to another session. */
  open(session_id: string): void;
}

/** What came of a line that was typed. */
export type Typed =
  /** It was a command; what to tell the person, if its event does not. */
  | { said?: string }
  /** It is a message. */
  | { text: string; delivery?: Delivery };

/**
 * Carries out a line that begins with a slash.
 *
 * @throws as the verbs, for a command that there is not
 */
export async function runTyped(
  line: string,
  session_id: string,
  call: CallVerb,
  acts: PageActs,
): Promise<Typed> {
  const word = line.trim();
  if (word === "/cancel") {
    await acts.stop();
    return {};
  }
  if (word === "/withdraw") {
    const { messages } = await call("session.withdraw", { session_id });
    if (messages.length === 0) return { said: NONE_QUEUED };
    acts.giveBack(messages);
    return {};
  }
  if (word === "/compact") {
    const { compacted } = await call("session.compact", { session_id });
    return compacted ? {} : { said: "There is nothing worth leaving out of the conversation." };
  }
  if (Object.hasOwn(VERBS, word)) {
    await call(VERBS[word as keyof typeof VERBS], { session_id });
    return {};
  }
  const [name] = word === "/exit" ? ["/quit"] : word.split(/\s/, 1);
  if (Object.hasOwn(INSTEAD, name)) return { said: INSTEAD[name] };
  const queued = queuedText(line);
  if (queued === "") return { said: QUEUE_USAGE };
  if (queued !== undefined) {
    return { text: await expanded(queued, { session_id }, call), delivery: "queue" };
  }
  const exported = exportCommand(word);
  if (exported !== undefined) {
    await acts.save(exportedName(exported, session_id), exported.format);
    return {};
  }
  if (word === "/help") return { said: await help({ session_id }, call) };
  const setting = settingCommand(word);
  if (setting !== undefined) return { said: await runSetting(setting, session_id, call) };
  const undo = undoCommand(word);
  if (undo?.name === "fork") {
    const title = undo.rest || undefined;
    acts.open((await call("session.fork", { session_id, title })).session_id);
    return {};
  }
  if (undo !== undefined) return { said: await runUndo(undo, session_id, call) };
  return { text: await expanded(line, { session_id }, call) };
}

/** The message of a line, if a command is one. @throws for a command that there is not */
async function expanded(text: string, at: Place, call: CallVerb): Promise<string> {
  if (!/^\\?\//.test(text)) return text;
  return (await call("commands.expand", { ...at, text })).text;
}

/** What the next session is to have. */
export interface Chosen {
  model: string;
  approval: Approval;
  /** Undefined until there is one. */
  workdir?: string;
}

/** An answer where no session has begun, and what to choose for the next one. */
export interface AnsweredFirst {
  said: string;
  choose?: Partial<Chosen>;
  /** A session begins, with this: what is wrong with it is found before there is one. */
  begin?: Pick<Params<"session.start">, "effort" | "network" | "title" | "add_dirs">;
}

/** Settings that are made in a session, which the line begins. */
const MADE_IN = /^\/(trust\s+no|permissions\s+(allow|deny|test|remove)\s.*)$/s;
/** Commands about what has happened, which nothing has. */
const OF_BEGUN: ReadonlySet<string> = new Set([
  ...Object.keys(VERBS),
  "/cancel",
  "/compact",
  "/export",
  "/withdraw",
]);

/**
 * Answers a line that begins with a slash where no session has begun, so that none is left in the
 * list that has an answer and nothing else.
 *
 * @param now what the next session would have
 * @returns undefined for a line that a session carries out
 * @throws for a model, a value or a command that there is not; as `models.list`
 */
export async function answerFirst(
  line: string,
  now: Chosen,
  call: CallVerb,
): Promise<AnsweredFirst | undefined> {
  const word = line.trim();
  const at = now.workdir === undefined ? undefined : { workdir: now.workdir };
  if (word === "/help") return { said: at ? await help(at, call) : commandHelp() };
  const [first] = word.split(/\s/, 1);
  const name = word === "/exit" ? "/quit" : first;
  if (Object.hasOwn(INSTEAD, name)) return { said: INSTEAD[name] };
  const queued = queuedText(line);
  if (queued === "") return { said: QUEUE_USAGE };
  const { setting, value } = settingCommand(word) ?? { setting: undefined, value: "" };
  if (setting === "model") {
    if (value === "") return { said: await modelsText(now.model, call) };
    const { models } = await call("models.list", {});
    // A model that no provider lists can be named, too.
    if (!/^[^/\s]+\/\S+$/.test(value) && !models.some(({ id }) => id === value)) {
      throw new Error(`there is no model ${value}; /model lists them`);
    }
    return { said: `model: ${value}`, choose: { model: value } };
  }
  const said = `${setting}: ${value}`;
  if (setting !== undefined && isChoice(setting)) {
    const is_approval = setting === "approval";
    if (value === "") return { said: choiceText(setting, is_approval ? now.approval : "default") };
    const choices: readonly string[] = CHOICES[setting];
    if (!choices.includes(value)) {
      throw new Error(`there is no ${setting} ${value}, but ${choices.join(", ")}`);
    }
    if (is_approval) return { said, choose: { approval: value as Approval } };
    return { said, begin: value === "default" ? {} : { [setting]: value } };
  }
  if (value !== "") {
    if (setting === "title") return { said, begin: { title: value } };
    if (setting === "add_dirs") return { said, begin: { add_dirs: [parseAddDirectory(value)] } };
  }
  if (setting === "cost") return { said: "$0.0000 so far: no session has begun here." };
  if (MADE_IN.test(word)) return undefined;
  if (setting === undefined && !OF_BEGUN.has(name) && undoCommand(word) === undefined) {
    if (at) await expanded(queued ?? line, at, call);
    return undefined;
  }
  return { said: `${name} is for a session. Say first what the agent should do.` };
}

async function help(at: Place, call: CallVerb): Promise<string> {
  const { commands, problems } = await call("commands.list", at);
  return [
    commandHelp(),
    ...commands.map(({ name, argument_hint = "", description }) =>
      `  ${`/${name} ${argument_hint}`.trimEnd()}  ${description}`
    ),
    ...problems.map(({ path, message }) => `  not used: ${path}: ${message}`),
    `  ${MODIFIER}/  the keys`,
  ].join("\n");
}
