/** Which test files run, against what, and in which order. */
import { walk } from "@std/fs";
import { dirname, fromFileUrl, isAbsolute, join, relative, resolve } from "@std/path";
import { UNITS } from "./options.ts";

export const root = dirname(dirname(dirname(fromFileUrl(import.meta.url))));

/** The folder of the tests that start svc. */
const PROCESSES = "tests";

/** A file to run. */
export interface TestFile {
  /** Its path: below the checkout as people would type it, elsewhere absolute. */
  path: string;
  /** Whether it tests the binary, not svc from source. */
  on_binary: boolean;
  /** Whether its tests need read permission alone: of a unit that say of none what it needs. */
  reads_only?: boolean;
}

/** Returns what names a file and what it runs against in the table of times. */
export function keyOf({ path, on_binary }: TestFile): string {
  return on_binary ? `${path} (binary)` : path;
}

/** Writes the path of a file as people would type it in the checkout. */
export function shownPath(path: string): string {
  const inside = relative(root, path);
  return inside.startsWith("..") || isAbsolute(inside) ? path : inside.replaceAll("\\", "/");
}

/**
 * Finds the test files in files and directories.
 *
 * @param paths absolute, or from the checkout.
 * @throws {Error} when one of them does not exist or has no test files.
 */
export async function testFiles(paths: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths.map((it) => resolve(root, it))) {
    const before = found.size;
    const { isFile } = await Deno.stat(path).catch(() => {
      throw new Error(`no file or directory is at ${path}`);
    });
    if (isFile) found.add(path);
    else {
      const match = [/(^|[/\\_.])test\.(ts|tsx|mts|js|jsx|mjs)$/];
      const skip = [/[/\\](node_modules|dist|\.git)([/\\]|$)/];
      for await (const it of walk(path, { match, includeDirs: false })) {
        if (!skip.some((folder) => folder.test(relative(path, it.path)))) found.add(it.path);
      }
      if (found.size === before) throw new Error(`no test files are in ${path}`);
    }
  }
  return [...found].map(shownPath).sort();
}

/** Returns the files of a call that names what to test. */
export async function named(paths: readonly string[], on_binary: boolean): Promise<TestFile[]> {
  const files = await testFiles(paths);
  return await Promise.all(files.map(async (path) => {
    return { path, on_binary, reads_only: await readsOnly(path) };
  }));
}

/** Reports whether a file is of unit tests and ignores none of them: those may only read. */
async function readsOnly(path: string): Promise<boolean> {
  if (!UNITS.some((folder) => path.startsWith(`${folder}/`))) return false;
  return !/\bignore\b/.test(await Deno.readTextFile(join(root, path)));
}

/** Lists the files that run with `--all` only. */
const LONG = "tests/long.txt";

/** Returns the paths that a list names: one on each line, with remarks after `#`. */
export function listed(text: string): string[] {
  return text.split("\n").map((line) => line.replace(/#.*/, "").trim()).filter((it) => it !== "");
}

/** What runs where no file is named. */
interface Everything {
  files: TestFile[];
  /** How many files the list of long ones leaves out. */
  left_out: number;
}

/**
 * Returns the unit tests, and what starts svc, against the binary that people use. What can only be
 * tested from source also runs from source.
 *
 * @param all also the files that are listed as long
 * @throws {Error} when the list names what is no test file
 */
export async function everything(all: boolean): Promise<Everything> {
  const long = new Set(listed(await Deno.readTextFile(join(root, LONG))));
  const files = await named(UNITS, false);
  const of_processes = await testFiles([PROCESSES]);
  for (const path of long) {
    if (!of_processes.includes(path)) {
      throw new Error(`${LONG} names ${path}: no test file is there`);
    }
  }
  for (const path of of_processes) {
    if (!all && long.has(path)) continue;
    files.push({ path, on_binary: true });
    if (/\btests_source\b/.test(await Deno.readTextFile(join(root, path)))) {
      files.push({ path, on_binary: false });
    }
  }
  return { files, left_out: all ? 0 : long.size };
}

/** Returns one part of several, which take about as long each. */
export function partOf(
  files: readonly TestFile[],
  [part, parts]: readonly [number, number],
): TestFile[] {
  return longestFirst(files, {}).filter((_, n) => n % parts === part - 1);
}

/** Seconds that files of a folder take on average, and some files, for what has not run here yet. */
export const USUAL: readonly (readonly [path: string, seconds: number])[] = [
  ["src/features/tasks/engine_test.ts", 80],
  ["src/features/worktree/worktree_test.ts", 50],
  ["src/jail/command_test.ts", 50],
  ["src/features/missions/git_workspace_test.ts", 40],
  ["src/net/http_listener_test.ts", 25],
  ["src/features/tasks/restate/pruning_test.ts", 15],
  ["src/jail/unit/pool_test.ts", 15],
  ["tests/web/", 40],
  ["tests/fault/", 30],
  ["tests/", 15],
  ["", 1],
];

/** Sorts files so that the longest start first: a long one at the end would run alone. */
export function longestFirst(
  files: readonly TestFile[],
  seconds: Readonly<Record<string, number>>,
): TestFile[] {
  const of = (file: TestFile) =>
    seconds[keyOf(file)] ?? USUAL.find(([path]) => file.path.startsWith(path))![1];
  return [...files].sort((a, b) => of(b) - of(a) || keyOf(a).localeCompare(keyOf(b)));
}
