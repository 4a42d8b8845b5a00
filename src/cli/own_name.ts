/**
 * How svc calls itself in commands that it prints: as the person called it. Texts of the daemon say
 * `svc`; the command line that shows one inserts the name.
 */
import process from "node:process";
import { shellQuote } from "../base/shell_quote.ts";
import { which } from "../os/which.ts";
import { calledAs } from "./called_as.ts";

const NAME = "svc";

export interface BinaryCall {
  /** What the shell was given, such as `svc` or `dist/svc`. */
  argv0: string;
  path: string;
  /** Returns the program that a word runs, if any. */
  find(word: string): string | undefined;
}

/** Returns the name that runs this svc again, quoted for a shell. */
export function ownName(): string {
  const given = calledAs(Deno.args);
  if (given !== undefined) return given;
  if (!Deno.build.standalone) return NAME;
  return binaryName({ argv0: process.argv0, path: Deno.execPath(), find: programOf });
}

/** Returns the name of a binary: `svc` if that word runs it, otherwise what it was called by. */
export function binaryName({ argv0, path, find }: BinaryCall): string {
  if (find(NAME) === path) return NAME;
  // Without a slash it comes from the PATH, unless the caller invented it.
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
 * Puts the own name into the quoted commands of a text that svc wrote.
 *
 * @param name called only if there is a command.
 */
export function named(text: string, name: () => string = ownName): string {
  return text.replace(/(?<=[`"])svc(?= [a-z<-])/g, name);
}
