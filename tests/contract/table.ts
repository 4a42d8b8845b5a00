/**
 * Runs the contract suite from source and, with SVC_BIN, against that binary; prints a table of its
 * rows. Exit code 1 when a row fails or nothing ran.
 */
import { fromFileUrl } from "@std/path";
import { ROW_SEPARATOR } from "./row.ts";

type Outcome = "ok" | "FAILED" | "ignored";
/** Outcomes by the row's name, in the order of the run. */
type Outcomes = Map<string, Outcome>;

const DIR = fromFileUrl(new URL(".", import.meta.url));
const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/** Runs the suite; its output goes to stderr. */
async function runSuite(binary: string | undefined): Promise<Outcomes> {
  const report = await Deno.makeTempFile({ prefix: "svc-contract-", suffix: ".xml" });
  const env = Deno.env.toObject();
  delete env.SVC_BIN;
  if (binary !== undefined) env.SVC_BIN = binary;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--quiet", "--allow-all", "--parallel", `--junit-path=${report}`, DIR],
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  await child.stdout.pipeTo(Deno.stderr.writable, { preventClose: true });
  await child.status;
  const outcomes = readReport(await Deno.readTextFile(report));
  await Deno.remove(report);
  return outcomes;
}

/** Reads a JUnit report. */
function readReport(xml: string): Outcomes {
  const outcomes: Outcomes = new Map();
  for (const [, name, rest] of xml.matchAll(/<testcase name="([^"]*)"([^]*?)(?=<testcase|$)/g)) {
    const plain = name.replaceAll(
      /&(#\d+|\w+);/g,
      (_, entity) =>
        entity.startsWith("#")
          ? String.fromCodePoint(Number(entity.slice(1)))
          : ENTITIES[entity] ?? `&${entity};`,
    );
    if (!plain.includes(ROW_SEPARATOR)) continue;
    const outcome = /<(failure|error)\b/.test(rest)
      ? "FAILED"
      : /<skipped\b/.test(rest)
      ? "ignored"
      : "ok";
    // Two rows of one name: the worse counts.
    if (outcomes.get(plain) !== "FAILED") outcomes.set(plain, outcome);
  }
  return outcomes;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function totals(outcomes: Outcomes): string {
  const of = (outcome: Outcome) => [...outcomes.values()].filter((it) => it === outcome).length;
  return `${outcomes.size} rows: ${of("ok")} ok, ${of("FAILED")} failed, ${of("ignored")} ignored`;
}

async function main(): Promise<number> {
  const binary = Deno.env.get("SVC_BIN");
  const runs: [string, Outcomes][] = [["source", await runSuite(undefined)]];
  if (binary) runs.push(["binary", await runSuite(binary)]);
  const names = new Set(runs.flatMap(([, outcomes]) => [...outcomes.keys()]));
  console.log(`| document | section | row | ${runs.map(([name]) => name).join(" | ")} |`);
  console.log(`|---|---|---|${runs.map(() => "---|").join("")}`);
  for (const name of [...names].sort()) {
    const [document, section, ...row] = name.split(ROW_SEPARATOR);
    const columns = [document, section, row.join(ROW_SEPARATOR)].map(cell);
    columns.push(...runs.map(([, outcomes]) => outcomes.get(name) ?? "not run"));
    console.log(`| ${columns.join(" | ")} |`);
  }
  console.log();
  for (const [name, outcomes] of runs) console.log(`${name}: ${totals(outcomes)}`);
  const well = runs.every(([, outcomes]) =>
    outcomes.size > 0 && [...outcomes.values()].every((it) => it !== "FAILED")
  );
  return well ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
