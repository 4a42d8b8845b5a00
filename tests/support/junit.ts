/**
 * Reads the JUnit reports of `deno test`; also runs test files for the tables of the contract and the
 * attacks.
 */
import { writeAll } from "../../src/base/write_all.ts";

export type Outcome = "ok" | "FAILED" | "ignored";

export interface Case {
  name: string;
  /** The file, as the report names it. */
  file: string;
  outcome: Outcome;
  seconds: number;
  /** Why it failed, as Deno reports it. */
  error?: string;
}

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/**
 * Runs `deno test` in parallel; its output goes to stderr.
 *
 * @param args more arguments of `deno test`: `--filter`, files, directories
 * @param env the whole environment of the run; this process's where it is not given
 * @returns the test cases in the order of the run, without steps
 */
export async function runTests(
  args: readonly string[],
  env: Record<string, string> = Deno.env.toObject(),
): Promise<Case[]> {
  const report = await Deno.makeTempFile({ prefix: "svc-junit-", suffix: ".xml" });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--quiet", "--allow-all", "--parallel", `--junit-path=${report}`, ...args],
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  // Not piped: several runs at once write there.
  for await (const bytes of child.stdout) await writeAll(Deno.stderr, bytes);
  await child.status;
  const cases = readReport(await Deno.readTextFile(report));
  await Deno.remove(report);
  return cases;
}

/**
 * Reads a report. A file that could not be loaded is not in it.
 *
 * @returns the test cases, without steps; a test that failed in a step has the step's error.
 */
export function readReport(xml: string): Case[] {
  const cases: Case[] = [];
  for (const [, head, rest] of xml.matchAll(/<testcase ([^>]*)>([^]*?)(?=<testcase|$)/g)) {
    const of = (name: string) => plain(head.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? "");
    const [name, file] = [of("name"), of("classname")];
    const failure = rest.match(/<(?:failure|error)\b(?: message="([^"]*)")?(?:\/>|>([^<]*))/);
    const error = failure === null ? undefined : plain(failure[2] || failure[1] || "");
    // A step has its test's name before its own, and follows it.
    const test = cases.find((it) => it.file === file && name.startsWith(`${it.name} > `));
    if (test !== undefined) {
      if (error !== undefined && /^\d+ test steps? failed/.test(test.error ?? "")) {
        test.error = error;
      }
      continue;
    }
    const outcome = failure !== null ? "FAILED" : /<skipped\b/.test(rest) ? "ignored" : "ok";
    cases.push({ name, file, outcome, seconds: Number(of("time")), error });
  }
  return cases;
}

/** Replaces the entities of XML by their characters. */
function plain(text: string): string {
  return text.replaceAll(/&(#\d+|\w+);/g, (_, entity) => {
    return entity.startsWith("#")
      ? String.fromCodePoint(Number(entity.slice(1)))
      : ENTITIES[entity] ?? `&${entity};`;
  });
}
