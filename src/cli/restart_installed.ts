/** Going over to the installed binary, which may be another one than the one that runs here. */
import type { HomePaths } from "../os/paths.ts";

/** Runs `svc serve restart` of the installed binary. @returns its exit code. */
export async function restartInstalled({ binary }: HomePaths): Promise<number> {
  // cwd-ok: it has the person's own, as this command has
  return (await new Deno.Command(binary, { args: ["serve", "restart"] }).spawn().status).code;
}

/**
 * As {@linkcode restartInstalled}, for a program that reads what comes of it.
 *
 * @returns the exit code, and what `svc serve restart --json` tells when that is 0.
 */
export async function restartInstalledAsJson(
  { binary }: HomePaths,
): Promise<{ code: number; json: unknown }> {
  // cwd-ok: it has the person's own, as this command has
  const { code, stdout } = await new Deno.Command(binary, {
    args: ["serve", "restart", "--json"],
    stderr: "inherit",
  }).output();
  return { code, json: code === 0 ? JSON.parse(new TextDecoder().decode(stdout)) : undefined };
}
