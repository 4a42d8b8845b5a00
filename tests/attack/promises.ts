/** The tests that the threat model names for its promises, and what the recorded run says of them. */
import { fromFileUrl, join } from "@std/path";
import { type AttackCount, cells } from "../support/attack_count.ts";
import type { Case } from "../support/junit.ts";

const DOCS = fromFileUrl(new URL("../../docs", import.meta.url));
/** The threat model. */
export const PROMISES = join(DOCS, "threat-model.md");
/** The page of the recorded run. */
export const RECORD = join(DOCS, "reference", "attacks.md");

/** A test that a promise names. */
export interface Promised {
  /** Its file, from the root of the checkout. */
  file: string;
  /** A part of its name; an ellipsis stands for what differs between tests. Empty: the whole file. */
  part: string;
}

/** Returns what the threat model names, each once. */
export function readPromises(text: string): Promised[] {
  const found = new Map<string, Promised>();
  for (const row of promiseRows(text)) {
    for (const it of testsOf(row)) found.set(`${it.file}: ${it.part}`, it);
  }
  return [...found.values()];
}

/** Returns the rows of the threat model's tables that promise something. */
export function promiseRows(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("|") && !/^\| (promise|---)/.test(line));
}

/** Returns the tests that one row names. */
export function testsOf(row: string): Promised[] {
  return [...row.matchAll(/\]\(\.\.\/([^)]+_test\.ts)\)(?:: "([^"]+)")?/g)]
    .map(([, file, part = ""]) => ({ file, part }));
}

/** Returns the cases of a run that a promise means. */
export function named(cases: readonly Case[], { file, part }: Promised): Case[] {
  const parts = part.split("…");
  return cases.filter((it) => it.file === file && hasInOrder(it.name, parts));
}

function hasInOrder(name: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

/** Writes the row of the recorded run for a promise's test. */
export function recordRow(it: Promised, count: AttackCount): string {
  return `| ${labelOf(it)} | ${cells(count)} |`;
}

/** Returns how many attempts the recorded run had for a promise's test, and how many succeeded. */
export function recorded(
  page: string,
  it: Promised,
): { attempts: number; succeeded: number } | undefined {
  const label = labelOf(it);
  for (const line of page.split("\n")) {
    const [, name, attempts, , succeeded] = line.split(/\s*(?<!\\)\|\s*/);
    if (name === label) return { attempts: Number(attempts), succeeded: Number(succeeded) };
  }
}

function labelOf({ file, part }: Promised): string {
  return part === "" ? file : `${file}: ${part.replaceAll("|", "\\|")}`;
}
