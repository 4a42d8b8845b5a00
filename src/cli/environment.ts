import { type HomePaths, homePaths } from "../os/paths.ts";

/** Reads a variable of this process; an empty one counts as unset. */
export function env(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}

/** Where the daemon of this user and environment lives. */
export function ownPaths(): HomePaths {
  return homePaths(env, Deno.uid());
}

/** Reads a comma-separated list such as SVC_SERVE_TOKENS. */
export function parseTokens(list: string | undefined): string[] {
  return [...new Set((list ?? "").split(",").map((it) => it.trim()).filter((it) => it !== ""))];
}
