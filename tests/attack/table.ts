/**
 * Runs every attack of this directory and prints the results by attacker. Fails when an attack
 * succeeds, when its control does not work, or when nothing ran.
 *
 * With SVC_BIN the attacks run against that binary, otherwise against the sources. Arguments go to
 * `deno test`: `--filter`, or the files to run. With `--record` alone, everything that the threat
 * model names runs too, against the compiled binary, and docs/reference/attacks.md is written.
 */
import { fromFileUrl } from "@std/path";
import { countAttacks, countLine } from "../support/attack_count.ts";
import { runTests } from "../support/junit.ts";
import { attackerTable } from "./attackers.ts";
import { MISSING } from "./kit.ts";

const DIR = fromFileUrl(new URL(".", import.meta.url));

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--record")) {
    if (args.length > 1) {
      console.error("--record runs everything: it takes no other arguments");
      return 2;
    }
    const { record } = await import("./record.ts");
    return await record();
  }
  const files = args.some((arg) => arg.endsWith("_test.ts")) ? [] : [DIR];
  const cases = await runTests([...args, ...files]);
  const count = countAttacks(cases);
  console.log(`${attackerTable(cases)}\n\n${countLine(count)}`);
  if (count.not_run > 0) {
    for (const [need, why] of Object.entries(MISSING)) {
      if (why !== undefined) console.log(`not run, no ${need}: ${why}`);
    }
  }
  return count.attempts > 0 && cases.every(({ outcome }) => outcome !== "FAILED") ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
