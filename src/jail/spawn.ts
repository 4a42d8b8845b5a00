import { spawnPassing } from "../os/passing.ts";
import type { StartOptions } from "../os/start.ts";
import type { SandboxArgv } from "./sandbox.ts";

/** Starts the program that {@linkcode Sandbox.argv} returned. */
export function spawnArgv(
  { cmd, args, env, raw, started, failed }: SandboxArgv,
  options: Omit<StartOptions, "args" | "env" | "clearEnv">,
): Deno.ChildProcess {
  try {
    const child = spawnPassing("a command", cmd, args, {
      ...options,
      env,
      clearEnv: true,
      windowsRawArguments: raw,
    });
    started?.(child);
    return child;
  } catch (error) {
    failed?.();
    throw error;
  }
}
