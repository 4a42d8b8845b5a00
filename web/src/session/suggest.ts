/** What the menus of the composer offer. Loaded with the first one. */
import { fuzzyScore } from "../../../src/base/fuzzy.ts";
import { chatCommands } from "../../../src/features/chat_commands/command_help.ts";
import type { Client } from "../rpc/client.ts";
import type { Option } from "../ui/option_list.tsx";
import { mentionOf, type Token } from "./token.ts";

/** An entry of a menu. */
export interface Suggestion extends Option {
  /** What takes the place of the word. */
  insert: string;
}

/** Returns what completes a word, best first. @throws as the verbs */
export function suggestionsFor(
  client: Client,
  session_id: string,
  { kind, query }: Token,
): Promise<Suggestion[]> {
  return kind === "file" ? files(client, session_id, query) : commands(client, session_id, query);
}

async function files(client: Client, session_id: string, query: string): Promise<Suggestion[]> {
  const { paths } = await client.ask("files.find", { session_id, query, limit: 50 });
  return paths.flatMap((path) => {
    const insert = mentionOf(path);
    return insert === undefined ? [] : [{ label: path, insert }];
  });
}

async function commands(client: Client, session_id: string, query: string): Promise<Suggestion[]> {
  const [own, { skills }] = await Promise.all([
    client.ask("commands.list", { session_id }),
    client.ask("skills.list", { session_id }),
  ]);
  const all: Suggestion[] = [
    ...own.commands.map(({ name, argument_hint, description }) => ({
      label: `/${name}`,
      hint: argument_hint,
      detail: description,
      insert: argument_hint === undefined ? `/${name}` : `/${name} `,
    })),
    ...chatCommands().map(({ name, args, what }) => ({
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
  return all
    .flatMap((it) => {
      const score = query === "" ? 0 : fuzzyScore(it.label.replace("/", ""), query);
      return score === undefined ? [] : [{ it, score }];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ it }) => it);
}
