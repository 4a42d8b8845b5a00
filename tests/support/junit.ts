/** Runs test files and reads their JUnit report, for the tables of the contract and the attacks. */

export type Outcome = "ok" | "FAILED" | "ignored";

export interface Case {
  name: string;
  /** The file, as the report names it. */
  file: string;
  outcome: Outcome;
  seconds: number;
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
  await child.stdout.pipeTo(Deno.stderr.writable, { preventClose: true });
  await child.status;
  const cases = readReport(await Deno.readTextFile(report));
  await Deno.remove(report);
  return cases;
}

function readReport(xml: string): Case[] {
  const cases = xml.matchAll(/<testcase ([^>]*)>([^]*?)(?=<testcase|$)/g);
  return [...cases].flatMap(([, head, rest]) => {
    const of = (name: string) => plain(head.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? "");
    // A step has its test's name before its own.
    if (of("name").includes(" > ")) return [];
    const outcome = /<(failure|error)\b/.test(rest)
      ? "FAILED"
      : /<skipped\b/.test(rest)
      ? "ignored"
      : "ok";
    return [{ name: of("name"), file: of("classname"), outcome, seconds: Number(of("time")) }];
  });
}

/** Replaces the entities of XML by their characters. */
function plain(text: string): string {
  return text.replaceAll(/&(#\d+|\w+);/g, (_, entity) => {
    return entity.startsWith("#")
      ? String.fromCodePoint(Number(entity.slice(1)))
      : ENTITIES[entity] ?? `&${entity};`;
  });
}
