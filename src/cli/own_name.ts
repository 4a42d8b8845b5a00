/**
 * How svc calls itself in the commands that it tells people to run: as they called it, so that they
 * can run them. Texts of the daemon say `svc`; the command line that shows one puts the name in.
 */
import process from "node:process";
import { shellQuote } from "../base/shell_quote.ts";
import { which } from "../os/which.ts";
import { calledAs } from "./called_as.ts";

const NAME = "svc";

/** How a binary was started. */
export interface BinaryCall {
  /** What the shell was given, such as `svc` or `dist/svc`. */
  argv0: string;
  /** The path of the binary. */
  path: string;
  /** Finds what a word runs; undefined without such a program. */
  find(word: string): string | undefined;
}

/** The name that runs this svc again, ready for a shell. */
export function ownName(): string {
  const given = calledAs(Deno.args);
  if (given !== undefined) return given;
  if (!Deno.build.standalone) return NAME;
  return binaryName({ argv0: process.argv0, path: Deno.execPath(), find: programOf });
}

/** The name of a binary: `svc` where that word runs it, otherwise what it was called by. */
export function binaryName({ argv0, path, find }: BinaryCall): string {
  if (find(NAME) === path) return NAME;
  // Without a slash it was found on the PATH, unless the one who started it made it up.
  return shellQuote(/[/\\]/.test(argv0) || find(argv0) === path ? argv0 : path);
}

function programOf(word: string): string | undefined {
  const found = which(word, Deno.env.get("PATH"));
  try {
    return found && Deno.realPathSync(found);
  } catch {
    return undefined;
  }
}

/**
 * Puts the own name into the commands of a text that svc wrote; they stand in backquotes or quotes.
 *
 * @param name returns the name; only asked where the text has a command.
 */
export function named(text: string, name: () => string = ownName): string {
  return text.replace(/(?<=[`"])svc(?= [a-z<-])/g, name);
}
