/** Converts a program with arguments into a shell command. */
import { shellQuote } from "../../base/shell_quote.ts";

export interface Wanted {
  command: string;
  args?: readonly string[];
  env?: readonly { name: string; value: string }[];
  /** Relative to the working directory. */
  cwd?: string;
}

/** Returns the command line; a command without arguments already is one. */
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
