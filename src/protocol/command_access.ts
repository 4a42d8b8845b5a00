/** What a command asks for that the sandbox does not give it. */
export interface CommandAccess {
  network?: boolean;
  outside_sandbox?: boolean;
}

/**
 * Says what a call of `run_command` asks for; undefined for one that keeps to the sandbox. Such a
 * call needs the person's approval in every mode.
 *
 * @param args the arguments of the call, as they are recorded
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
