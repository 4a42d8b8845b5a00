/** Writes down a run of everything that the threat model names. */
import { dirname, fromFileUrl, join } from "@std/path";
import { VERSION } from "../../src/protocol/version.ts";
import { compiledBinary } from "../runner/binary.ts";
import { testFiles } from "../runner/files.ts";
import { countAttacks, countLine, FOLDER } from "../support/attack_count.ts";
import { type Case, runTests } from "../support/junit.ts";
import { has_two_users } from "./users.ts";
import { named, type Promised, PROMISES, readPromises, RECORD, recordRow } from "./promises.ts";
import { attackerTable } from "./attackers.ts";

const ROOT = dirname(dirname(dirname(fromFileUrl(import.meta.url))));

/**
 * Runs everything that the threat model names, and all attacks, and writes the page.
 *
 * @returns the exit code: 0 when nothing failed and each promise has a test that ran.
 */
export async function record(): Promise<number> {
  if (!has_two_users) {
    console.error("--record needs root on Linux, so that another user can attack");
    return 2;
  }
  const promised = readPromises(await Deno.readTextFile(PROMISES));
  const cases = await runAll(promised);
  const failed = cases.filter(({ outcome }) => outcome === "FAILED");
  for (const { file, name, error = "" } of failed) {
    console.error(`FAILED ${file} => ${name}\n${error}`);
  }
  const unproven = promised.filter((it) => countAttacks(named(cases, it)).attempts === 0);
  for (const { file, part } of unproven) console.error(`did not run: ${file} => ${part}`);
  if (failed.length + unproven.length > 0) return 1;
  await Deno.writeTextFile(RECORD, pageOf(cases, promised, await commit()));
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", RECORD] })
    .output();
  console.log(countLine(countAttacks(attacksOf(cases))));
  return success ? 0 : 1;
}

/** How many files run at once: most wait for processes most of the time. */
const AT_ONCE = 4;

/** Runs the files against the compiled binary; what can only be tested from source, from source. */
async function runAll(promised: readonly Promised[]): Promise<Case[]> {
  const { path: binary } = await compiledBinary(new AbortController().signal);
  const env = Deno.env.toObject();
  if (binary !== undefined) env.SVC_BIN ??= binary;
  const { SVC_BIN: _, ...from_source } = env;
  const files = [
    ...new Set([...await testFiles([FOLDER]), ...promised.map(({ file }) => file)]),
  ];
  const ran = new Map<string, Case[]>();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let file = files.shift(); file !== undefined; file = files.shift()) {
      ran.set(file, await runOne(file, env, from_source));
    }
  }));
  // As in the test command, what failed beside others runs once more, alone.
  for (const [file, cases] of ran) {
    if (!cases.some(({ outcome }) => outcome === "FAILED")) continue;
    console.error(`Running again, alone: ${file}`);
    ran.set(file, await runOne(file, env, from_source));
  }
  return [...ran.values()].flat();
}

/** Runs one file; a report names the module that declares a test, which is not always that. */
async function runOne(
  file: string,
  env: Record<string, string>,
  from_source: Record<string, string>,
): Promise<Case[]> {
  const args = ["--no-check", join(ROOT, file)];
  let cases = await runTests(args, env);
  if (cases.every(({ outcome }) => outcome === "ignored")) {
    cases = await runTests(args, from_source);
  }
  return cases.map((it) => ({ ...it, file }));
}

function attacksOf(cases: readonly Case[]): Case[] {
  return cases.filter(({ file }) => file.startsWith(FOLDER));
}

/** Returns the commit that is checked out. */
async function commit(): Promise<string> {
  const args = ["-C", ROOT, "rev-parse", "--short=10", "HEAD"];
  const { stdout } = await new Deno.Command("git", { args }).output();
  return new TextDecoder().decode(stdout).trim();
}

function pageOf(
  cases: readonly Case[],
  promised: readonly Promised[],
  commit: string,
): string {
  const attacks = attacksOf(cases);
  const date = new Date().toISOString().slice(0, 10);
  const release = Deno.osRelease().replace(/^(\d+\.\d+).*/, "$1");
  const system = `${Deno.build.os} ${release}, ${Deno.build.arch}`;
  const rows = promised.map((it) => recordRow(it, countAttacks(named(cases, it))));
  return `# Attacks

The last recorded run of the attacks: svc ${
    VERSION.replace(/\+.*/, "")
  } at ${commit}, ${date}, ${system}, as root with one
unprivileged user against another. \`sh install/dev.sh attack --record\` writes this page, and writes
nothing if an attack succeeds, if a control fails, or if a promise has no test that ran.

**${countLine(countAttacks(attacks))}.** An attempt counts with its control: the same probe where it
must succeed, which is checked first.

## By attacker

${attackerTable(attacks)}

## By promise

What each test that the [threat model](../threat-model.md) names did in that run.

| test | attempts | controls | succeeded | not run |
|---|---|---|---|---|
${rows.join("\n")}
`;
}
