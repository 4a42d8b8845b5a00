/**
 * What a person or a machine has set and would change a test's result: a proxy that nobody answers
 * at, a language, directories of their own settings, files that nobody else may read. Whoever imports this is rid of it, and so are
 * the processes that it starts.
 */
import { join } from "@std/path";

const CHANGES_RESULTS =
  /^((https?|all|no)_proxy|language|lc_.*|xdg_.*|git_.*|(clicolor_)?force_color)$/i;

const { state } = Deno.permissions.querySync({ name: "env" });
if (state === "granted" && Deno.build.os !== "windows") setSurroundings();

function setSurroundings(): void {
  if (Deno.permissions.querySync({ name: "sys" }).state === "granted") Deno.umask(0o022);
  // Where Deno's modules are stays so, also for a process that a test gives another HOME.
  const cache = cacheDirectory();
  if (cache !== undefined && !Deno.env.get("DENO_DIR")) Deno.env.set("DENO_DIR", cache);
  for (const name of Object.keys(Deno.env.toObject())) {
    if (CHANGES_RESULTS.test(name)) Deno.env.delete(name);
  }
  Deno.env.set("LANG", "C.UTF-8");
  // Of git only what a test sets itself.
  Deno.env.set("GIT_CONFIG_GLOBAL", "/dev/null");
  Deno.env.set("GIT_CONFIG_NOSYSTEM", "1");
}

/**
 * The variables of this process with a home that has no settings: commands without a sandbox see the
 * home of whoever runs the tests, and git reads `~/.gitconfig` there.
 */
export function withoutHome(): Record<string, string> {
  return { ...Deno.env.toObject(), HOME: "/dev/null" };
}

/** Where Deno keeps modules without DENO_DIR. */
function cacheDirectory(): string | undefined {
  const home = Deno.env.get("HOME");
  if (Deno.build.os === "darwin") return home && join(home, "Library/Caches/deno");
  const caches = Deno.env.get("XDG_CACHE_HOME") || (home && join(home, ".cache"));
  return caches && join(caches, "deno");
}
