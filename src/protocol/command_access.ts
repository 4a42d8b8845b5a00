/** What a command asks for beyond its sandbox. */
export interface CommandAccess {
  network?: boolean;
  outside_sandbox?: boolean;
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
  const { outside_sandbox, network } = (args ?? {}) as CommandAccess;
  if (outside_sandbox === true) return "outside of the sandbox";
  return network === true ? "with network access" : undefined;
}
