/**
 * The only place that starts processes and Workers. Without free descriptors, Deno ends the whole
 * process in the middle of a start, so each start checks first.
 */
import { requireDescriptors } from "./descriptors.ts";

/** `cwd` is required, so that nothing depends on svc's own. */
export type StartOptions = Deno.CommandOptions & { cwd: string };

/**
 * Starts a program.
 *
 * @param what is started, for the message
 * @throws {SvcError} unavailable when too few descriptors are left
 * @throws what `spawn` does
 */
export function startProgram(
  what: string,
  program: string,
  options: StartOptions,
): Deno.ChildProcess {
  requireDescriptors(what);
  return new Deno.Command(program, options).spawn();
}

/** Starts a Worker. @throws {SvcError} unavailable when too few descriptors are left */
export function startWorker(what: string, entry: string | URL, options: WorkerOptions): Worker {
  requireDescriptors(what);
  return new Worker(entry, options);
}
