/** The commands of a chat, as they are typed. Loaded with the first one. */
import { commandHelp } from "../../../src/session/command_help.ts";
import { type CallVerb, runSetting, settingCommand } from "../../../src/session/setting_command.ts";
import { runUndo, undoCommand } from "../../../src/session/undo_command.ts";

/** Commands that are one verb. */
const VERBS: Readonly<Record<string, string>> = {
  "/compact": "session.compact",
  "/continue": "session.continue",
  "/kill": "session.kill",
  "/pause": "session.pause",
  "/resume": "session.resume",
};

/** What came of a line that was typed. */
export type Typed =
  /** It was a command; what to tell the person, if its event does not. */
  | { said?: string }
  /** It is a message. */
  | { text: string };

/**
 * Carries out a line that begins with a slash.
 *
 * @param stop cancels the turn
 * @throws as the verbs, for a command that there is not
 */
export async function runTyped(
  line: string,
  session_id: string,
  call: CallVerb,
  stop: () => Promise<void>,
): Promise<Typed> {
  const word = line.trim();
  if (word === "/cancel") {
    await stop();
    return {};
  }
  const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
  if (verb !== undefined) {
    const { compacted } = await call(verb, { session_id });
    return compacted === false
      ? { said: "There is nothing worth leaving out of the conversation." }
      : {};
  }
  if (word === "/quit" || word === "/exit") {
    return { said: "Close the page to leave; the session continues in the daemon." };
  }
  if (word === "/help") return { said: await help(session_id, call) };
  const setting = settingCommand(word);
  if (setting !== undefined) return { said: await runSetting(setting, session_id, call) };
  const undo = undoCommand(word);
  if (undo !== undefined) return { said: await runUndo(undo, session_id, call) };
  return await call("commands.expand", { session_id, text: line });
}

async function help(session_id: string, call: CallVerb): Promise<string> {
  const { commands, problems } = await call("commands.list", { session_id });
  return [
    commandHelp(),
    // deno-lint-ignore no-explicit-any -- as the verb returns them
    ...commands.map(({ name, argument_hint = "", description }: any) =>
      `  ${`/${name} ${argument_hint}`.trimEnd()}  ${description}`
    ),
    // deno-lint-ignore no-explicit-any -- the same
    ...problems.map(({ path, message }: any) => `  not used: ${path}: ${message}`),
  ].join("\n");
}
