import { join } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { Binder } from "./binder.ts";

/**
 * Creates the `.svc` of a workdir that hides it. Otherwise a command that started earlier could see
 * the journal of a later session.
 *
 * @throws {SvcError} conflict when something else has the name, because a command could replace it
 */
export function prepareOwn(
  { workdir, hidden }: { workdir: string; hidden: readonly string[] },
  binder: Binder,
): void {
  const own = join(workdir, ".svc");
  if (!hidden.includes(own) || binder.kind(own) === "directory") return;
  if (binder.kind(workdir) === undefined) return;
  try {
    Deno.mkdirSync(own, { mode: 0o700 });
    Deno.writeTextFileSync(join(own, ".gitignore"), "*\n", { createNew: true, mode: 0o600 });
  } catch (error) {
    // If svc cannot write here, no later session can either.
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
