/**
 * Programs that are started with open descriptors. What a path names can be exchanged between a check
 * and its use; a descriptor stays what it was when it was opened.
 */
import type { Descriptor } from "./openat2.ts";
import { requireDescriptors } from "./descriptors.ts";
import { type StartOptions, startProgram } from "./start.ts";

/** An argument that is the number of a descriptor. */
export interface Passed {
  /** Opens it without the close-on-exec flag; called right before the program starts. */
  open(): Descriptor;
}

/** An argument of a program. */
export type Argument = string | Passed;

/**
 * Starts a program that inherits the descriptors among its arguments, and no others.
 *
 * They are open from just before the program starts until it has: all of that is one synchronous
 * step, so a program that is started elsewhere in this process cannot inherit them as well.
 *
 * @param what is started, for the message of {@linkcode startProgram}
 * @throws what {@linkcode Passed.open} throws, and what {@linkcode startProgram} does; nothing then
 * stays open
 *
 * @example
 * ```ts
 * using kernel = openKernel()!;
 * const directory = { open: () => kernel.openReal("/srv/project", { inherited: true }) };
 * spawnPassing("a command", "bwrap", ["--bind-fd", directory, "/srv/project", "ls"], { cwd: "/" });
 * ```
 */
export function spawnPassing(
  what: string,
  program: string,
  args: readonly Argument[],
  options: Omit<StartOptions, "args">,
): Deno.ChildProcess {
  requireDescriptors(what);
  using opened = new DisposableStack();
  const words = args.map((arg) =>
    typeof arg === "string" ? arg : String(opened.use(arg.open()).number)
  );
  return startProgram(what, program, { ...options, args: words });
}
