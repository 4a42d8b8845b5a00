/** Commands: messages in Markdown files, sent with `/name`. Nothing in them is run. */
import { nearestOf } from "../../base/nearest.ts";
import { visibleLine } from "../../base/visible.ts";
import { RootedError } from "../../jail/rooted.ts";
import type { UntrustedReader } from "../../jail/untrusted_files.ts";
import { CHAT_COMMANDS } from "../../protocol/chat_commands.ts";
import { SvcError } from "../../protocol/errors.ts";
import { BadMarkdown, parseMarkdown, textField } from "./front_matter.ts";
import { type Owner, type Place, placesOf, Problems, textIn } from "./places.ts";

interface FoundCommand {
  name: string;
  /** One line; may be empty. */
  description: string;
  argument_hint?: string;
  source: Place["source"];
  path: string;
  /** With `$ARGUMENTS` and `$1` to `$9`. */
  body: string;
}

const FILES_MAX = 200;
/** Of all files and folders. */
const NAMES_MAX = 5_000;
/** Of subfolders. */
const DEPTH_MAX = 3;
const DESCRIPTION_MAX = 1_024;
const HINT_MAX = 200;
/** Of a first line that replaces a missing description. */
const FIRST_LINE_MAX = 100;
/** A command that a person may have meant; paths have other characters. */
const WORD = /^[\p{L}_][\p{L}\p{N}_:-]*$/u;
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}\p{M}_.-]{0,63}$/u;

/** Returns a session's commands, sorted by name. */
export function findCommands(reader: UntrustedReader, owner: Owner) {
  const search = new Search();
  for (const place of placesOf(reader, "commands", owner)) search.directory(place, []);
  const commands = [...search.found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  const { found: problems, unreadable } = search.problems;
  return { commands, problems, unreadable };
}

class Search {
  readonly found = new Map<string, FoundCommand>();
  readonly problems = new Problems();
  #files = 0;
  #names = 0;

  /** @param folders subfolders that lead to the directory */
  directory(place: Place, folders: readonly string[]): void {
    for (const name of this.#namesIn(place, folders).sort()) {
      if (name.startsWith(".")) continue;
      if (++this.#names > NAMES_MAX || this.#files > FILES_MAX) return;
      const file = name.match(/^(.*)\.md$/)?.[1];
      if (file !== undefined) this.#file(place, [...folders, file]);
      else if (folders.length < DEPTH_MAX && NAME.test(name)) {
        this.directory(place, [...folders, name]);
      }
    }
  }

  #namesIn({ files, directory, path }: Place, folders: readonly string[]): string[] {
    return this.problems.try([path, ...folders].join("/"), () => {
      try {
        return files.names([directory, ...folders].join("/"));
      } catch (error) {
        // Other files may be beside the commands.
        if (error instanceof RootedError && error.reason === "not_directory") return [];
        throw error;
      }
    }) ?? [];
  }

  #file({ files, directory, path: at, source }: Place, parts: readonly string[]): void {
    const path = `${[at, ...parts].join("/")}.md`;
    if (++this.#files > FILES_MAX) {
      return this.problems.add(at, `only the first ${FILES_MAX} command files are used`);
    }
    if (!NAME.test(parts.at(-1)!)) {
      return this.problems.add(path, "a command's name has letters, digits, `_`, `.` and `-` only");
    }
    const name = parts.join(":");
    if (CHAT_COMMANDS.some((own) => own === name)) {
      return this.problems.add(path, `svc chat has its own /${name}; rename the file`);
    }
    const before = this.found.get(name);
    if (before !== undefined) {
      return this.problems.add(path, `/${name} is already defined by ${before.path}`);
    }
    const text = this.problems.try(
      path,
      () => textIn(files, `${[directory, ...parts].join("/")}.md`),
    );
    if (text === undefined) return;
    const command = this.problems.try(path, () => commandOf(text));
    if (command !== undefined) {
      this.found.set(name, { name, ...command, source, path: visibleLine(path) });
    }
  }
}

/** @throws {BadMarkdown} */
function commandOf(text: string) {
  const file = parseMarkdown(text);
  const { body } = file;
  if (body === "") throw new BadMarkdown("has no text to send");
  const [first] = body.split("\n", 1);
  const description = textField(file, "description", DESCRIPTION_MAX) ??
    first.replace(/^#+\s*/, "").slice(0, FIRST_LINE_MAX);
  const hint = textField(file, "argument-hint", HINT_MAX);
  return {
    description: visibleLine(description),
    ...(hint === undefined ? {} : { argument_hint: visibleLine(hint) }),
    body,
  };
}

/**
 * Returns the message for a line such as `/name arguments`; other lines, such as paths, are
 * unchanged.
 * @throws {SvcError} not_found for an unknown command
 */
export function expandCommand(
  line: string,
  commands: readonly FoundCommand[],
): { text: string; command?: string } {
  if (line.startsWith("\\/")) return { text: line.slice(1) };
  const [, name, rest = ""] = line.match(/^\/([^\s/]+)(?:\s+([^]*))?$/) ?? [];
  if (name === undefined) return { text: line };
  const found = commands.find((it) => it.name === name);
  if (found !== undefined) return { text: filled(found.body, rest.trim()), command: name };
  if (!WORD.test(name)) return { text: line };
  const shown = visibleLine(`/${name}`);
  const as_text = "To send the text as it is, start it with a space or with \\/";
  if (CHAT_COMMANDS.some((own) => own === name)) {
    throw new SvcError("not_found", `${shown} with these words is no command here`, {
      hint: `/help in svc chat and in the web app lists the commands. ${as_text}`,
    });
  }
  const near = nearestOf(name, [...CHAT_COMMANDS, ...commands.map((it) => it.name)]);
  const meant = near === undefined ? "/help lists the commands." : `did you mean /${near}?`;
  throw new SvcError("not_found", `unknown command ${shown}`, { hint: `${meant} ${as_text}` });
}

/** Inserts the arguments once; placeholders in them stay. */
function filled(body: string, args: string): string {
  const places = /\$(?:ARGUMENTS\b|([1-9])(?!\d))/g;
  if (!places.test(body)) return args === "" ? body : `${body}\n\n${args}`;
  const words = wordsOf(args);
  return body.replaceAll(places, (_, n?: string) => n === undefined ? args : words[+n - 1] ?? "");
}

/** Splits at blanks, except in quotes. */
function wordsOf(args: string): string[] {
  return Array.from(
    args.matchAll(/"([^"]*)"|'([^']*)'|\S+/g),
    ([word, double, single]) => double ?? single ?? word,
  );
}
