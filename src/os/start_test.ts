import { assertEquals } from "@std/assert";
import { fromFileUrl, join, relative } from "@std/path";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));
const DOOR = "src/os/start.ts";
/** What starts a process or a Worker of the platform. */
const STARTS = /\bDeno(?:\.|\[["'`])Command\b(?!Options)|\bCommand\b[^;]*} = Deno\b|child_process/;
const WORKERS = /\bnew (?:globalThis\.)?Worker\(/;
const ALLOWED = /\/\/ start-ok: \S/;

function startsIn(text: string): string[] {
  const lines = text.split("\n");
  // A class of a file may have the name.
  const own = /\b(?:class|import \{[^}]*\b) ?Worker\b/.test(text);
  return lines.filter((line, at) =>
    !/^\s*(?:\*|\/\/)/.test(line) && !ALLOWED.test(lines[at - 1] ?? "") &&
    (STARTS.test(line) || (!own && WORKERS.test(line)))
  );
}

function* sourcesBelow(directory: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    const path = join(directory, name);
    if (isDirectory) yield* sourcesBelow(path);
    else if (/\.tsx?$/.test(name)) yield path;
  }
}

Deno.test("processes and Workers are started at one place only, which looks for descriptors", () => {
  const found: Record<string, string[]> = {};
  for (const path of sourcesBelow(join(ROOT, "src"))) {
    const name = relative(ROOT, path);
    if (name === DOOR || name.endsWith("_test.ts") || name.startsWith("src/lint/")) continue;
    const starts = startsIn(Deno.readTextFileSync(path));
    if (starts.length > 0) found[name] = starts;
  }
  assertEquals(found, {});
  // The search finds what there is.
  assertEquals(startsIn(Deno.readTextFileSync(`${ROOT}${DOOR}`)).length, 2);
  for (
    const start of [
      "const child = new Deno.Command('ls', {});",
      "const C = Deno['Command'];",
      "const { Command: C } = Deno;",
      "import { spawn } from 'node:child_process';",
      "const w = new Worker(url);",
    ]
  ) assertEquals(startsIn(start), [start]);
});
