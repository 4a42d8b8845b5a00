/** The `.svc` of a directory that commands work in: it is there before the first of them. */
import { join } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { Binder } from "./binder.ts";
import type { SandboxScope } from "./sandbox.ts";

/**
 * Makes the `.svc` of a workdir where it is hidden from commands: a command that began before it was
 * there would see a session's journal in it that is made later.
 *
 * @throws {SvcError} conflict when something else has its name, which a command could replace.
 */
export function prepareOwn({ workdir, hidden }: SandboxScope, binder: Binder): void {
  const own = join(workdir, ".svc");
  if (!hidden.includes(own) || binder.kind(own) === "directory") return;
  if (binder.kind(workdir) === undefined) return;
  try {
    Deno.mkdirSync(own, { mode: 0o700 });
    Deno.writeTextFileSync(join(own, ".gitignore"), "*\n", { createNew: true, mode: 0o600 });
  } catch (error) {
    // A directory that svc may not write is one in which nothing is made later either.
    if (isReadOnly(error)) return;
    throw new SvcError("conflict", `svc cannot keep its files in ${own}: ${messageOf(error)}`, {
      hint: `remove ${own}, which is not a directory of svc`,
    });
  }
}

function isReadOnly(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable ||
    (error as { code?: string }).code === "EROFS";
}
