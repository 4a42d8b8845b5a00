/**
 * Runs every attack of this directory and prints what became of them, attacker by attacker. It fails when an
 * attack succeeds, when its control brings nothing home, or when nothing ran.
 *
 * With SVC_BIN the attacks are on that binary, else on the sources. Arguments go to `deno test`:
 * `--filter`, or the files to run.
 */
import { fromFileUrl } from "@std/path";
import { MISSING, SEPARATOR } from "./kit.ts";

interface Row {
  attacks: number;
  held: number;
  failed: number;
  skipped: number;
  seconds: number;
}

const DIR = fromFileUrl(new URL(".", import.meta.url));

/** Runs the attacks; their output goes to stderr. @returns a row for each attacker. */
async function runAttacks(args: readonly string[]): Promise<Map<string, Row>> {
  const report = await Deno.makeTempFile({ prefix: "svc-attack-", suffix: ".xml" });
  const files = args.some((arg) => arg.endsWith("_test.ts")) ? [] : [DIR];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--quiet", "--allow-all", "--parallel", `--junit-path=${report}`]
      .concat(args, files),
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  await child.stdout.pipeTo(Deno.stderr.writable, { preventClose: true });
  await child.status;
  const rows = readReport(await Deno.readTextFile(report));
  await Deno.remove(report);
  return rows;
}

/** Reads a JUnit report: its test cases by attacker, or by file where none is named. Steps do not count. */
function readReport(xml: string): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const [, head, rest] of xml.matchAll(/<testcase ([^>]*)>([^]*?)(?=<testcase|$)/g)) {
    const of = (name: string) => head.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? "";
    if (of("name").includes(" &gt; ")) continue;
    const [attacker, more] = of("name").split(SEPARATOR);
    const file = of("classname").split("/").at(-1)!.replace("_test.ts", "");
    const from = more === undefined ? `numbered: ${file}` : attacker;
    const row = rows.get(from) ?? { attacks: 0, held: 0, failed: 0, skipped: 0, seconds: 0 };
    row.attacks++;
    row.seconds += Number(of("time"));
    if (/<(failure|error)\b/.test(rest)) row.failed++;
    else if (/<skipped\b/.test(rest)) row.skipped++;
    else row.held++;
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
      if (why !== undefined) console.log(`skipped for want of a ${need}: ${why}`);
    }
  }
  return sum.failed === 0 && sum.held > 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
