/**
 * Measures the compiled binary and prints one table:
 *
 *   deno task bench [--source] [--only <name>,…] [--json] [--out bench/report.md]
 *   deno task bench --beside <binary> [--rounds 3] [--only <name>,…] [--json]
 *
 * With `--beside` each measure alternates between both binaries, so that a change in the machine's
 * speed affects both, and the table shows the ratio of their medians. `--sessions` sets the number of
 * idle sessions for the measure `idle` (default: 1,000).
 *
 * SVC_BIN names the binary (default: dist/svc); `--source` measures the source instead. A missed
 * target is shown but is not a failure. Everything stays on loopback. A full run takes about two
 * minutes.
 */
import { cpus } from "node:os";
import { fromFileUrl, join } from "@std/path";
import { parseArgs } from "@std/cli/parse-args";
import {
  type Figure,
  markdownReport,
  type Pair,
  pairTable,
  plainTable,
  short,
  toRow,
} from "./figures.ts";
import { foreign } from "./foreign.ts";
import { hire } from "./hire.ts";
import { ownLoad, wrk, wrkVersion } from "./load.ts";
import { idle } from "./idle.ts";
import { mcp } from "./mcp.ts";
import {
  below,
  commands,
  fairness,
  journal,
  reopening,
  sessions,
  start,
  turns,
} from "./measures.ts";
import { nats } from "./nats.ts";
import { web } from "./web.ts";
import { svcCommand } from "../tests/support/svc.ts";

const root = fromFileUrl(new URL("..", import.meta.url));

async function main(): Promise<number> {
  const args = parseArgs(Deno.args, {
    boolean: ["source", "json"],
    string: ["out", "only", "beside", "rounds", "sessions"],
    default: { rounds: "3", sessions: "1000" },
  });
  if (args.source) Deno.env.delete("SVC_BIN");
  else if (!Deno.env.get("SVC_BIN")) Deno.env.set("SVC_BIN", join(root, "dist", "svc"));

  const wrk_version = await wrkVersion();
  const load = wrk_version === undefined ? ownLoad : wrk;
  const measures: Record<string, () => Promise<Figure[]>> = {
    start,
    sessions: () => sessions(load),
    idle: () => idle(Number(args.sessions)),
    turns,
    commands,
    below,
    foreign,
    fairness,
    hire,
    nats,
    mcp,
    journal,
    reopening,
    web,
  };
  const names = args.only?.split(",") ?? Object.keys(measures);
  const unknown = names.find((name: string) => !(name in measures));
  if (unknown !== undefined) {
    console.error(`--only takes ${Object.keys(measures).join(", ")}, got "${unknown}"`);
    return 2;
  }

  if (args.beside !== undefined) {
    const pairs = await sideBySide(names.map((name: string) => measures[name]), {
      here: Deno.env.get("SVC_BIN")!,
      beside: args.beside,
      rounds: Number(args.rounds),
    });
    console.log(args.json ? JSON.stringify(pairs, null, 2) : pairTable(pairs));
    return 0;
  }

  const load_before = Deno.loadavg()[0];
  const began = performance.now();
  const figures: Figure[] = [];
  for (const name of names) {
    console.error(`measuring ${name} …`);
    figures.push(...await measures[name]());
  }
  const rows = figures.map(toRow);
  const circumstances = {
    date: new Date().toISOString(),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}, ` +
      `${short(Deno.systemMemoryInfo().total / 1e9)} GB, ${Deno.build.target}`,
    "load average before": short(load_before),
    measured: args.source ? "the source, deno run" : "the compiled binary",
    version: await version(),
    "HTTP load": wrk_version === undefined ? "bench/load_main.ts" : `wrk ${wrk_version}`,
    took: `${short((performance.now() - began) / 1000)} s`,
  };
  if (args.json) console.log(JSON.stringify({ ...circumstances, rows }, null, 2));
  else {
    for (const [name, value] of Object.entries(circumstances)) console.log(`${name}: ${value}`);
    console.log(`\n${plainTable(rows)}`);
  }
  if (args.out) await Deno.writeTextFile(args.out, markdownReport(rows, circumstances));
  return 0;
}

/** Measures two binaries in turn. */
async function sideBySide(
  measures: readonly (() => Promise<Figure[]>)[],
  { rounds, ...binaries }: { here: string; beside: string; rounds: number },
): Promise<Pair[]> {
  const pairs = new Map<string, Pair>();
  for (const measure of measures) {
    for (let round = 1; round <= rounds; round++) {
      // Which one goes first changes, so that neither always finds the caches warm.
      const order = round % 2 === 1 ? ["here", "beside"] as const : ["beside", "here"] as const;
      for (const which of order) {
        console.error(`round ${round} of ${rounds}: ${binaries[which]} …`);
        Deno.env.set("SVC_BIN", binaries[which]);
        for (const { id, name, unit, value } of await measure()) {
          if (!pairs.has(id)) pairs.set(id, { name, unit, here: [], beside: [] });
          pairs.get(id)![which].push(value);
        }
      }
    }
  }
  return [...pairs.values()];
}

async function version(): Promise<string> {
  const [program, first] = svcCommand();
  const { stdout } = await new Deno.Command(program, { args: [...first, "--version"] }).output();
  return new TextDecoder().decode(stdout).trim();
}

if (import.meta.main) Deno.exit(await main());
