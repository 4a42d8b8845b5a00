/** A program with its arguments, as a line for the shell that commands run in. */
import { shellQuote } from "../../base/shell_quote.ts";

/** What an agent wants to have run. */
export interface Wanted {
  command: string;
  args?: readonly string[];
  env?: readonly { name: string; value: string }[];
  /** Where it runs, inside the working directory; that itself by default. */
  cwd?: string;
}

/** The line; where there are no arguments the command is a line already. */
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
