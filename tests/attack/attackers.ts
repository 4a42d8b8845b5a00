/** Attacks by who attacks, as a table. */
import { basename } from "@std/path";
import { cells, countAttacks, SEPARATOR } from "../support/attack_count.ts";
import type { Case } from "../support/junit.ts";

/** The attacks of a run by who attacks, or by the file where a test names nobody. */
function byAttacker(cases: readonly Case[]): Map<string, Case[]> {
  const found = new Map<string, Case[]>();
  for (const it of cases) {
    const [attacker, attack] = it.name.split(SEPARATOR);
    const file = basename(it.file).replace("_test.ts", "").replaceAll("_", " ");
    const from = attack === undefined ? file : attacker;
    found.set(from, [...found.get(from) ?? [], it]);
  }
  return new Map([...found].sort(([a], [b]) => a < b ? -1 : 1));
}

/** Writes a table of attacks by who attacks, in Markdown. */
export function attackerTable(cases: readonly Case[]): string {
  const lines = [
    "| attacks from | attempts | controls | succeeded | not run |",
    "|---|---|---|---|---|",
  ];
  for (const [from, attacks] of byAttacker(cases)) {
    lines.push(`| ${from} | ${cells(countAttacks(attacks))} |`);
  }
  return lines.join("\n");
}
