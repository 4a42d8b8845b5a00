/**
 * Starts programs with open descriptors. A path can be replaced between check and use; an open
 * descriptor cannot.
 */
import type { Descriptor } from "./openat2.ts";
import { requireDescriptors } from "./descriptors.ts";
import { type StartOptions, startProgram } from "./start.ts";

/** Becomes the number of a descriptor. */
export interface Passed {
  /** Opens it without close-on-exec, right before the program starts. */
  open(): Descriptor;
}

export type Argument = string | Passed;

/**
 * Starts a program that inherits only the descriptors among its arguments.
 *
 * They are open only while it starts, in one synchronous step, so no other program inherits them.
 *
 * @param what is started, for the message of {@linkcode startProgram}
 * @throws what {@linkcode Passed.open} and {@linkcode startProgram} throw; nothing stays open then
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
