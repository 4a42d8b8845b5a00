import { inRealDirectory } from "../os/files.ts";
import { type HomePaths, homePaths } from "../os/paths.ts";

/** Reads a variable; an empty one counts as unset. */
export function env(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}

/** Returns the paths of the daemon of this user and environment. */
export function ownPaths(): HomePaths {
  // On Windows a drive of the network would become a path that many programs do not take.
  const placed = Deno.build.os === "windows" ? undefined : inRealDirectory;
  return homePaths(env, Deno.uid(), placed);
}

/** Reads a comma-separated list such as SVC_SERVE_TOKENS. */
export function parseTokens(list: string | undefined): string[] {
  return [...new Set((list ?? "").split(",").map((it) => it.trim()).filter((it) => it !== ""))];
}
