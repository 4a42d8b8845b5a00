/**
 * The only place where processes and Workers are started. Out of descriptors, Deno ends the whole
 * process when a start fails half way; so each start makes sure first that there are enough.
 */
import { requireDescriptors } from "./descriptors.ts";

/** Options of a program. It has no working directory of its own: nothing leans on that of svc. */
export type StartOptions = Deno.CommandOptions & { cwd: string };

/**
 * Starts a program.
 *
 * @param what is started, for the message
 * @throws {SvcError} unavailable when this process has too few descriptors left
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

/**
 * Starts a Worker.
 *
 * @param what is started, for the message
 * @throws {SvcError} unavailable when this process has too few descriptors left
 */
export function startWorker(what: string, entry: string | URL, options: WorkerOptions): Worker {
  requireDescriptors(what);
  return new Worker(entry, options);
}
