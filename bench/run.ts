/**
 * Measures the compiled binary and prints one table:
 *
 *   deno task bench [--source] [--only <name>,…] [--json] [--out bench/report.md] [--write]
 *   deno task bench --beside <binary> [--rounds 3] [--only <name>,…] [--json]
 *
 * With `--beside` each measure alternates between both binaries, so that a change in the machine's
 * speed affects both, and the table shows the ratio of their medians. `--sessions` sets the number of
 * idle sessions for the measure `idle` (default: 1,000).
 *
 * `--write` puts the figures of a full run into docs/reference/figures.md; let nothing else run then.
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
  pageTable,
  type Pair,
  pairTable,
  plainTable,
  short,
  toRow,
} from "./figures.ts";
import { back } from "./back.ts";
import { codex } from "./codex.ts";
import { foreign } from "./foreign.ts";
import { hire } from "./hire.ts";
import { restate } from "./restate.ts";
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
import { terminal } from "./terminal.ts";
import { undo } from "./undo.ts";
import { web } from "./web.ts";
import { svcCommand } from "../tests/support/svc.ts";

const root = fromFileUrl(new URL("..", import.meta.url));

const HELP = `Measures svc and prints a table of figures.

Usage: sh install/dev.sh bench [options]

Options:
  --only NAMES       Only these measures, separated by commas
  --beside BINARY    Compare with another binary: both in turn, and the ratio of their medians
  --rounds N         Rounds of a comparison (default: 3)
  --sessions N       Idle sessions of the measure "idle" (default: 1000)
  --source           Measure the source, not dist/svc or the binary of SVC_BIN
  --json             Print JSON
  --out FILE         Also write a report in Markdown
  --write            Put the figures into docs/reference/figures.md
  --help             Show this help

CODEX_BIN names a codex program: start and stop are then measured beside it.`;

async function main(): Promise<number> {
  const unknown_flags: string[] = [];
  const args = parseArgs(Deno.args, {
    boolean: ["source", "json", "write", "help"],
    string: ["out", "only", "beside", "rounds", "sessions"],
    default: { rounds: "3", sessions: "1000" },
    unknown(flag) {
      unknown_flags.push(flag);
      return false;
    },
  });
  if (unknown_flags.length > 0) {
    console.error(`bench: unknown argument ${unknown_flags[0]}; --help lists what there is`);
    return 2;
  }
  if (args.help) {
    console.log(HELP);
    return 0;
  }
  if (args.write && (args.only !== undefined || args.beside !== undefined)) {
    console.error("bench: --write takes a full run of one binary, without --only and --beside");
    return 2;
  }
  if (args.source) Deno.env.delete("SVC_BIN");
  else if (!Deno.env.get("SVC_BIN")) Deno.env.set("SVC_BIN", join(root, "dist", "svc"));

  const wrk_version = await wrkVersion();
  const load = wrk_version === undefined ? ownLoad : wrk;
  const measures: Record<string, () => Promise<Figure[]>> = {
    start,
    codex,
    sessions: () => sessions(load),
    idle: () => idle(Number(args.sessions)),
    turns,
    commands,
    below,
    foreign,
    fairness,
    hire,
    restate,
    mcp,
    journal,
    reopening,
    undo,
    terminal,
    web,
    back,
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
  if (args.write) {
    const { withPart } = await import("../install/docs.ts");
    const file = join(root, "docs", "reference", "figures.md");
    const part = { file, name: "figures", text: () => pageTable(rows, circumstances) };
    await Deno.writeTextFile(file, await withPart(await Deno.readTextFile(file), part));
  }
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
