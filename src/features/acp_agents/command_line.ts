/** Converts a program with its arguments into a line for the shell of commands. */
import { shellQuote } from "../../base/shell_quote.ts";

/** A command that an agent requests. */
export interface Wanted {
  command: string;
  args?: readonly string[];
  env?: readonly { name: string; value: string }[];
  /** Its directory inside the working directory; default: the working directory itself. */
  cwd?: string;
}

/** Returns the line; a command without arguments already is one. */
export function commandLine({ command, args = [], env = [], cwd }: Wanted): string {
  const where = cwd === undefined || cwd === "" ? "" : `cd ${shellQuote(cwd)} && `;
  const variables = env.length === 0
    ? ""
    : `env ${env.map(({ name, value }) => shellQuote(`${name}=${value}`)).join(" ")} `;
  if (args.length === 0) {
    return where + (variables === "" ? command : `${variables}sh -c ${shellQuote(command)}`);
  }
  return where + variables + [command, ...args].map(shellQuote).join(" ");
}
