import { type HomePaths, homePaths } from "../os/paths.ts";

/** Reads a variable of this process; an empty one counts as unset. */
export function env(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}

/** Where the daemon of this user and environment lives. */
export function ownPaths(): HomePaths {
  return homePaths(env, Deno.uid());
}
