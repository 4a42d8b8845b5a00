import { spawnPassing } from "../os/passing.ts";
import type { SandboxArgv } from "./sandbox.ts";

/** Starts the program that {@linkcode Sandbox.argv} returned. */
export function spawnArgv(
  { cmd, args, env, raw, started }: SandboxArgv,
  options: Omit<Deno.CommandOptions, "args" | "env" | "clearEnv">,
): Deno.ChildProcess {
  const child = spawnPassing(cmd, args, {
    ...options,
    env,
    clearEnv: true,
    windowsRawArguments: raw,
  });
  started?.(child);
  return child;
}
