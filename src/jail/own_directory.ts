/** Creates the `.svc` of a directory before the first command works in it. */
import { join } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { Binder } from "./binder.ts";
import type { SandboxScope } from "./sandbox.ts";

/**
 * Creates the `.svc` of a workdir in which it is hidden from commands. Otherwise a command that
 * started before it existed could see the journal of a session that starts later.
 *
 * @throws {SvcError} conflict when something else has its name, because a command could replace
 * that
 */
export function prepareOwn({ workdir, hidden }: SandboxScope, binder: Binder): void {
  const own = join(workdir, ".svc");
  if (!hidden.includes(own) || binder.kind(own) === "directory") return;
  if (binder.kind(workdir) === undefined) return;
  try {
    Deno.mkdirSync(own, { mode: 0o700 });
    Deno.writeTextFileSync(join(own, ".gitignore"), "*\n", { createNew: true, mode: 0o600 });
  } catch (error) {
    // If svc cannot write the directory, nothing is created there later either.
    if (isReadOnly(error)) return;
    throw new SvcError("conflict", `svc cannot keep its files in ${own}: ${messageOf(error)}`, {
      hint: `remove ${own}, which svc did not create`,
    });
  }
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable ||
    (error as { code?: string }).code === "EROFS";
}
