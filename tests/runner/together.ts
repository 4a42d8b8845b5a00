/**
 * Runs several test files in one process, whose modules are then loaded once: for files whose tests
 * may only read, so that none can change anything that another one sees.
 */
import { join, resolve, toFileUrl } from "@std/path";
import type { Case } from "../support/junit.ts";
import { type FileRun, runFile, type Settings } from "./file_run.ts";
import { root, type TestFile } from "./files.ts";
import { TestOutput } from "./output.ts";

/** The most files of one process. */
export const TOGETHER = 50;

/** How a test is called that stands for the beginning of a file. */
const BEGINS = "the tests of ";

/** Reports whether the flags of a run let tests read and do nothing else. */
export function onlyReads(flags: readonly string[]): boolean {
  return flags.length === 1 && flags[0] === "--allow-read";
}

/** Reports whether a file may share its process: hooks of one file would run for all others. */
export async function sharesProcess({ path }: TestFile): Promise<boolean> {
  const text = await Deno.readTextFile(resolve(root, path)).catch(() => "Deno.test.beforeAll");
  return !/\bDeno\.test\.(before|after)/.test(text);
}

/** Writes a module that declares the tests of all files, each file's after its beginning. */
function moduleOf(files: readonly TestFile[]): string {
  return files.map(({ path }) => {
    const name = JSON.stringify(BEGINS + path);
    const url = JSON.stringify(toFileUrl(resolve(root, path)).href);
    return `Deno.test({ name: ${name}, ignore: true, fn() {} });\nawait import(${url});\n`;
  }).join("");
}

/**
 * Runs files in one process.
 *
 * @param output takes what is printed.
 * @param onFailure called with the file and the name of a test when it fails.
 * @returns a run for each file; undefined when it cannot be told exactly how each has ended, as when
 *   one of them cannot be loaded: then each is to run alone.
 */
export async function runTogether(
  files: readonly TestFile[],
  settings: Settings,
  output: TestOutput,
  onFailure: (file: TestFile, name: string) => void,
): Promise<FileRun[] | undefined> {
  const path = join(settings.dir, `${crypto.randomUUID()}_test.ts`);
  await Deno.writeTextFile(path, moduleOf(files));
  const all = { path, on_binary: false };
  const run = await runFile(
    all,
    { ...settings, onOutput: undefined },
    output,
    undefined,
    (name) => {
      const begun = output.ended.filter((it) => it.name.startsWith(BEGINS)).length;
      if (begun > 0) onFailure(files[begun - 1], name);
    },
  );
  await Deno.remove(path);
  if (run.trouble !== undefined) return undefined;
  return split(files, output, run.cases);
}

/**
 * Tells the tests of files apart by the order in which they ended.
 *
 * @param cases what the report has of all of them, in the order of the modules that declare them.
 */
export function split(
  files: readonly TestFile[],
  { ended }: Pick<TestOutput, "ended">,
  cases: readonly Case[],
): FileRun[] | undefined {
  // A test that prints may hide its own end.
  if (ended.length !== cases.length) return undefined;
  const left = new Map<string, Case[]>();
  for (const it of cases) left.set(it.name, [...left.get(it.name) ?? [], it]);
  const runs: FileRun[] = [];
  for (const { name, outcome } of ended) {
    const same = left.get(name) ?? [];
    const at = same.findIndex((it) => it.outcome === outcome);
    if (at < 0) return undefined;
    const [reported] = same.splice(at, 1);
    if (!name.startsWith(BEGINS)) {
      const run = runs.at(-1);
      if (run === undefined) return undefined;
      run.cases.push(reported);
      run.seconds += reported.seconds;
      if (outcome === "FAILED") {
        run.errors = `${run.errors}${name}\n${reported.error ?? ""}\n`;
      }
    } else {
      const file = files[runs.length];
      if (file === undefined || name !== BEGINS + file.path) return undefined;
      runs.push({ file, cases: [], seconds: 0, errors: "" });
    }
  }
  return runs.length === files.length ? runs : undefined;
}
