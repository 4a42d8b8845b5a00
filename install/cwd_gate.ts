/**
 * The gate of product.md, Session: refuses to build source that uses the process working directory
 * without a reason. `deno lint` has the rule; this also refuses directives that would silence it.
 *
 *   deno run --allow-read install/cwd_gate.ts     only the directives, in addition to `deno lint`
 */
import { dirname, fromFileUrl, join } from "@std/path";
import { walk } from "@std/fs";

const root = dirname(dirname(fromFileUrl(import.meta.url)));
/** The source of the binary and of its build. */
const SOURCES = ["main.ts", "src", "web/src", "install"].map((path) => join(root, path));
const RULE = "svc/no-process-cwd";
/** A directive that names the rule, or all rules of a file. */
const SILENCING =
  /\/[/*]\s*deno-lint-ignore(?:-file[ \t]*(?:--.*)?(?:\*\/.*)?$|[^\n]*\bsvc\/no-process-cwd\b)/m;

/** Finds the directives that silence the rule. @returns their places, one per line. */
export async function silencedIn(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const path of sourcesIn(paths)) {
    const lines = (await Deno.readTextFile(path)).split("\n");
    const at = lines.findIndex((line) => SILENCING.test(line));
    if (at >= 0) found.push(`${path}:${at + 1}: ${lines[at].trim()}`);
  }
  return found;
}

async function* sourcesIn(paths: readonly string[]): AsyncGenerator<string> {
  for (const path of paths) {
    if ((await Deno.stat(path)).isFile) yield path;
    else {
      for await (const file of walk(path, { includeDirs: false, exts: [".ts", ".tsx", ".js"] })) {
        // The rule's own test contains such directives as text.
        if (file.name !== "no_process_cwd_test.ts") yield file.path;
      }
    }
  }
}

/** @throws {Error} when a source uses the process working directory without a reason */
export async function requireNoProcessCwd(paths: readonly string[] = SOURCES): Promise<void> {
  refuseSilenced(await silencedIn(paths));
  const { success, stderr, stdout } = await new Deno.Command(Deno.execPath(), {
    // As few built-in rules as possible; those of plugins always run.
    args: [
      "lint",
      "--quiet",
      "--rules-tags=workspace",
      `--config=${join(root, "deno.json")}`,
      ...paths,
    ],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  if (success) return;
  const text = [stdout, stderr].map((it) => new TextDecoder().decode(it).trim()).join("\n").trim();
  throw new Error(`fix this before you build:\n${text}`);
}

function refuseSilenced(found: readonly string[]): void {
  if (found.length === 0) return;
  throw new Error(
    `directives that silence ${RULE}:\n${found.join("\n")}\n` +
      "hint: write `// cwd-ok: <reason>` above the call instead",
  );
}

if (import.meta.main) refuseSilenced(await silencedIn(SOURCES));
