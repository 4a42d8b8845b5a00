/** Switching to the installed binary, which may differ from the running one. */
import type { HomePaths } from "../os/paths.ts";
import { startProgram } from "../os/start.ts";

/** Runs `svc serve restart` of the installed binary. @returns its exit code. */
export async function restartInstalled({ binary }: HomePaths): Promise<number> {
  const options = { args: ["serve", "restart"], cwd: "/" };
  return (await startProgram("svc serve restart", binary, options).status).code;
}

/**
 * As {@linkcode restartInstalled}, for a program.
 *
 * @returns also the output of `--json`, if the code is 0.
 */
export async function restartInstalledAsJson(
  { binary }: HomePaths,
): Promise<{ code: number; json: unknown }> {
  const { code, stdout } = await startProgram("svc serve restart", binary, {
    args: ["serve", "restart", "--json"],
    cwd: "/",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  return { code, json: code === 0 ? JSON.parse(new TextDecoder().decode(stdout)) : undefined };
}
