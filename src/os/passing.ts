/**
 * Programs that are started with open descriptors. What a path names can be exchanged between a check
 * and its use; a descriptor stays what it was when it was opened.
 */
import type { Descriptor } from "./beneath_kernel.ts";

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
 * @throws what {@linkcode Passed.open} throws, and what `spawn` does; nothing then stays open.
 *
 * @example
 * ```ts
 * using kernel = openKernel()!;
 * const directory = { open: () => kernel.openReal("/srv/project", { inherited: true }) };
 * spawnPassing("bwrap", ["--bind-fd", directory, "/srv/project", "ls"]);
 * ```
 */
export function spawnPassing(
  program: string,
  args: readonly Argument[],
  options: Omit<Deno.CommandOptions, "args"> = {},
): Deno.ChildProcess {
  using opened = new DisposableStack();
  const words = args.map((arg) =>
    typeof arg === "string" ? arg : String(opened.use(arg.open()).number)
  );
  return new Deno.Command(program, { ...options, args: words }).spawn();
}
