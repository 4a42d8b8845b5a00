/** What completes a word of a message: files after `@`, commands and skills after `/`. */
import { fuzzyScore } from "../../base/fuzzy.ts";
import { mentionOf, type Token } from "../../base/mention.ts";
import type { CallVerb } from "../verb_types.ts";
import { chatCommands } from "./command_help.ts";

/** An entry of a menu. */
export interface Suggestion {
  label: string;
  /** Beside the label. */
  hint?: string;
  /** One line on what it is. */
  detail?: string;
  /** What takes the place of the word. */
  insert: string;
}

/** Where files, commands and skills are looked for. */
export type Place = { session_id: string } | { workdir: string };

const FILES_MAX = 50;

/**
 * Returns what completes a word, best first.
 *
 * @param terminal whether the commands of terminals are among them
 * @throws as the verbs
 */
export async function suggestionsFor(
  call: CallVerb,
  at: Place,
  { kind, query }: Token,
  terminal = false,
): Promise<Suggestion[]> {
  if (kind === "file") return await files(call, at, query);
  const all = await commands(call, at, terminal);
  return all
    .flatMap((it) => {
      const score = query === "" ? 0 : fuzzyScore(it.label.replace("/", ""), query);
      return score === undefined ? [] : [{ it, score }];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ it }) => it);
}

async function files(call: CallVerb, at: Place, query: string): Promise<Suggestion[]> {
  const { paths } = await call("files.find", { ...at, query, limit: FILES_MAX });
  return paths.flatMap((path) => {
    const insert = mentionOf(path);
    return insert === undefined ? [] : [{ label: path, insert }];
  });
}

async function commands(
  call: CallVerb,
  at: Place,
  terminal: boolean,
): Promise<Suggestion[]> {
  const [own, { skills }] = await Promise.all([
    call("commands.list", at),
    call("skills.list", at),
  ]);
  return [
    ...own.commands.map(({ name, argument_hint, description }) => ({
      label: `/${name}`,
      hint: argument_hint,
      detail: description,
      insert: argument_hint === undefined ? `/${name}` : `/${name} `,
    })),
    ...chatCommands(terminal).map(({ name, args, what }) => ({
      label: name,
      hint: args,
      detail: what,
      insert: args === undefined ? name : `${name} `,
    })),
    ...skills.map(({ name, description }) => ({
      label: name,
      hint: "skill",
      detail: description,
      insert: `Use the skill ${name}: `,
    })),
  ];
}
