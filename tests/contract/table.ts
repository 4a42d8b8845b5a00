/**
 * Runs the contract suite from source and, with SVC_BIN, against that binary; prints a table of its
 * rows. Exit code 1 when a row fails or nothing ran.
 */
import { fromFileUrl } from "@std/path";
import { type Outcome, runTests } from "../support/junit.ts";
import { ROW_SEPARATOR } from "./row.ts";

/** Outcomes by the row's name, in the order of the run. */
type Outcomes = Map<string, Outcome>;

const DIR = fromFileUrl(new URL(".", import.meta.url));

/** Runs the suite from source, or against a binary. */
async function runSuite(binary: string | undefined): Promise<Outcomes> {
  const env = Deno.env.toObject();
  delete env.SVC_BIN;
  if (binary !== undefined) env.SVC_BIN = binary;
  const outcomes: Outcomes = new Map();
  for (const { name, outcome } of await runTests([DIR], env)) {
    if (!name.includes(ROW_SEPARATOR)) continue;
    // If two rows have the same name, the worse one counts.
    if (outcomes.get(name) !== "FAILED") outcomes.set(name, outcome);
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
