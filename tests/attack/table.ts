/**
 * Runs every attack of this directory and prints the results by attacker. Fails when an attack
 * succeeds, when its control does not work, or when nothing ran.
 *
 * With SVC_BIN the attacks run against that binary, otherwise against the sources. Arguments go to
 * `deno test`: `--filter`, or the files to run.
 */
import { basename, fromFileUrl } from "@std/path";
import { runTests } from "../support/junit.ts";
import { MISSING, SEPARATOR } from "./kit.ts";

interface Row {
  attacks: number;
  held: number;
  failed: number;
  skipped: number;
  seconds: number;
}

const DIR = fromFileUrl(new URL(".", import.meta.url));

/** Runs the attacks. @returns a row for each attacker, or for each file whose tests name none. */
async function runAttacks(args: readonly string[]): Promise<Map<string, Row>> {
  const files = args.some((arg) => arg.endsWith("_test.ts")) ? [] : [DIR];
  const rows = new Map<string, Row>();
  for (const { name, file, outcome, seconds } of await runTests([...args, ...files])) {
    const [attacker, attack] = name.split(SEPARATOR);
    const numbered = `numbered: ${basename(file).replace("_test.ts", "")}`;
    const from = attack === undefined ? numbered : attacker;
    const row = rows.get(from) ?? { attacks: 0, held: 0, failed: 0, skipped: 0, seconds: 0 };
    row.attacks++;
    row.seconds += seconds;
    row[({ ok: "held", FAILED: "failed", ignored: "skipped" } as const)[outcome]]++;
    rows.set(from, row);
  }
  return rows;
}

async function main(): Promise<number> {
  const start = performance.now();
  const rows = await runAttacks(Deno.args);
  const sum: Row = { attacks: 0, held: 0, failed: 0, skipped: 0, seconds: 0 };
  console.log("| attacks from | attacks | succeeded | held | skipped | seconds |");
  console.log("|---|---|---|---|---|---|");
  for (const [file, row] of [...rows].sort(([a], [b]) => a < b ? -1 : 1)) {
    const { attacks, failed, held, skipped, seconds } = row;
    console.log(
      `| ${file} | ${attacks} | ${failed} | ${held} | ${skipped} | ${seconds.toFixed(1)} |`,
    );
    for (const name of Object.keys(sum) as (keyof Row)[]) sum[name] += row[name];
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(
    `\n${sum.attacks} attacks, ${sum.failed} succeeded or without a working control, ` +
      `${sum.held} held, ${sum.skipped} skipped, in ${seconds} s`,
  );
  if (sum.skipped > 0) {
    for (const [need, why] of Object.entries(MISSING)) {
      if (why !== undefined) console.log(`skipped, no ${need}: ${why}`);
    }
  }
  return sum.failed === 0 && sum.held > 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
