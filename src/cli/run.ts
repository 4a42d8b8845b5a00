/** The command line: finds the command, loads only its module, turns errors into exit codes. */
import { messageOf, SvcError } from "../protocol/errors.ts";
import { COMMANDS, SVC } from "./commands.ts";
import { UsageError } from "./define.ts";
import type { Command } from "./spec.ts";
import { parse, unknownCommand } from "./parse.ts";

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * Runs a command line, without the program's name.
 *
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage (contract.md section 10).
 */
export async function run(argv: string[]): Promise<number> {
  try {
    return await dispatch(argv);
  } catch (error) {
    const { visible } = await import("../base/visible.ts");
    const { named } = await import("./own_name.ts");
    console.error(`svc: ${visible(named(messageOf(error)))}`);
    const hint = error instanceof SvcError || error instanceof UsageError ? error.hint : undefined;
    if (hint) console.error(`     ${visible(named(hint))}`);
    return error instanceof UsageError ? WRONG_USAGE : FAILED;
  }
}

async function dispatch(argv: string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "help") {
    await showHelp("svc", SVC);
    return name === undefined ? WRONG_USAGE : DONE;
  }
  if (name.startsWith("-")) return await ownFlag(argv);
  if (!Object.hasOwn(COMMANDS, name)) throw unknownCommand("svc", name, SVC.commands!);
  const command = await COMMANDS[name]();
  const former = formerName(`svc ${name}`, command, rest);
  if (former !== undefined) {
    const { typed, words, argv } = former;
    const { named } = await import("./own_name.ts");
    console.error(`svc: \`${typed}\` is deprecated, use ${named(`\`svc ${words.join(" ")}\``)}`);
    return await dispatch([...words, ...argv]);
  }
  const parsed = parse(command, `svc ${name}`, rest);
  if (parsed.input === undefined) {
    await showHelp(parsed.path, parsed.command);
    return parsed.help ? DONE : WRONG_USAGE;
  }
  return await (await parsed.command.load!())(parsed.input);
}

/** `svc --version` and `svc --help`. @throws {UsageError} for another flag. */
async function ownFlag(argv: string[]): Promise<number> {
  // The flags of svc itself, without those of its commands.
  const load = () => Promise.reject(new Error("svc has no implementation of its own"));
  const { help, input } = parse({ spec: SVC.spec, load }, "svc", argv);
  if (help) await showHelp("svc", SVC);
  else if (input?.flags.version) {
    const { PROTOCOL_VERSION, VERSION } = await import("../protocol/version.ts");
    console.log(`svc ${VERSION} (deno ${Deno.version.deno}, protocol ${PROTOCOL_VERSION})`);
  }
  return DONE;
}

/**
 * Returns the command that replaces a former name, if these words are one.
 *
 * @param typed the words that name `command`
 * @param argv what follows them
 */
export function formerName(
  typed: string,
  { alias, commands = {} }: Command,
  argv: string[],
): { typed: string; words: readonly string[]; argv: string[] } | undefined {
  if (alias !== undefined) return { typed, words: alias, argv };
  const [word, ...rest] = argv;
  if (word === undefined || !Object.hasOwn(commands, word)) return undefined;
  return formerName(`${typed} ${word}`, commands[word], rest);
}

async function showHelp(path: string, command: Command): Promise<void> {
  const { helpText } = await import("./help.ts");
  const { ownName } = await import("./own_name.ts");
  console.log(helpText(path, command, ownName()));
}
