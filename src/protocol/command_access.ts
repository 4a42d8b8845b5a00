/** What a command asks for beyond its sandbox. */
import { addedDirectoriesText, type AddedDirectory } from "./added_directory.ts";

export interface CommandAccess {
  network?: boolean;
  outside_sandbox?: boolean;
  /** Files and directories that this command alone may use. */
  paths?: readonly AddedDirectory[];
}

/**
 * Returns what a `run_command` call asks for beyond its sandbox, if anything. Such a call needs the
 * person's approval in every mode.
 *
 * @example
 * ```ts
 * accessWords({ command: "npm install", network: true }); // "with network access"
 * ```
 */
export function accessWords(args: unknown): string | undefined {
  const { outside_sandbox, network, paths = [] } = (args ?? {}) as CommandAccess;
  if (outside_sandbox === true) return "outside of the sandbox";
  const words = [
    ...(network === true ? ["network access"] : []),
    ...(paths.length > 0 ? [`access to ${addedDirectoriesText(paths)}`] : []),
  ];
  return words.length === 0 ? undefined : `with ${words.join(" and ")}`;
}
