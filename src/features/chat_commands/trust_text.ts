/** What faces say of a directory's own rules and hooks. */
import type { Result } from "../verb_types.ts";

/** Says what a trusted directory's own rules and hooks do now. */
export function trustedText(
  { directory, allows, hooks }: Result<"permissions.trust">,
): string {
  const list = (what: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [what, ...lines.map((line) => `  ${line}`)];
  return [
    `${directory} is trusted, until its files change`,
    ...list("its rules allow:", allows),
    ...list("its hooks run:", hooks),
  ].join("\n");
}

/** Says whether a directory's hooks run, a line each. */
export function hookLines(
  { hooks = [], hooks_run = false }: Result<"permissions.list">,
  needs: string,
): string[] {
  return hooks.map((line) => `${hooks_run ? "hook" : `${needs}: hook`} ${line}`);
}
