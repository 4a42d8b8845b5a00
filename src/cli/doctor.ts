import type { Finding } from "./doctor/check.ts";
import { RESTART_HINT } from "./doctor/daemon_checks.ts";
import { examine } from "./doctor/examine.ts";
import { parseFlags, UsageError } from "./args.ts";
import { painter, wantsColour } from "./chat_render.ts";
import { env, ownPaths } from "./environment.ts";
import { restartInstalled } from "./restart_installed.ts";
import { visible, visibleLine } from "../base/visible.ts";
import { print, withDaemon } from "./daemon_call.ts";
import { table } from "./table.ts";

const HELP = `Checks that everything svc needs is well. Nothing is changed.

Usage: svc doctor [--json]
       svc doctor --cache [--model <model>] [--json]

  --cache           instead, has the running daemon warm the prefix that all model calls
                    share and measure the provider's cache; a few paid calls
  --model <model>   the model to measure; the default model by default
  --json            machine-readable output

Exit code 0 when nothing fails, 1 otherwise; a warning is not a failure. The cache passes
when 80 % of the input or more come from it.`;

/** Runs `svc doctor`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, string, rest } = parseFlags(argv, {
    boolean: ["json", "cache"],
    string: ["model"],
  });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  if (rest.length > 0) throw new UsageError(`svc doctor takes no argument "${rest[0]}"`);
  if (boolean.cache) return await checkCache(string.model, boolean.json === true);
  if (string.model !== undefined) throw new UsageError("--model goes with --cache");
  const paths = ownPaths();
  const findings = await examine(paths, env);
  const ok = findings.every(({ status }) => status !== "fail");
  if (boolean.json) {
    print({ ok, checks: findings });
    return ok ? 0 : 1;
  }
  console.log(report(findings));
  const outdated = findings.some(({ hint }) => hint === RESTART_HINT);
  if (outdated && Deno.stdin.isTerminal() && Deno.stdout.isTerminal()) {
    if (confirm("Restart the daemon now?")) {
      return await restartInstalled(paths);
    }
  }
  return ok ? 0 : 1;
}

async function checkCache(model: string | undefined, json: boolean): Promise<number> {
  const found = await withDaemon((rpc) => rpc.call("daemon.check_cache", { model }));
  const { warm, workers, hit_rate, passed } = found;
  if (json) print(found);
  else {
    const row = (name: string, usage: typeof warm) => [
      name,
      String(usage.tokens_in),
      String(usage.tokens_cached),
      String(usage.tokens_cache_write),
    ];
    console.log(table([
      ["CALL", "INPUT", "FROM CACHE", "TO CACHE"],
      row("warm", warm),
      ...workers.map((usage: typeof warm, n: number) => row(`worker ${n + 1}`, usage)),
    ]));
    console.log(
      `${visibleLine(found.model)}: ${(hit_rate * 100).toFixed(1)} % of the workers' input came ` +
        `from the cache, ${passed ? "enough" : "too little"} (at least 80 %)`,
    );
  }
  return passed ? 0 : 1;
}

function report(findings: readonly Finding[]): string {
  const paint = painter(wantsColour(Deno.stdout));
  const colours = { ok: paint.green, warn: paint.yellow, fail: paint.red };
  const width = Math.max(...findings.map(({ name }) => name.length));
  const indent = " ".repeat(4 + 2 + width + 2);
  return findings.flatMap(({ name, status, message, hint }) => [
    `${colours[status](status.padEnd(4))}  ${name.padEnd(width)}  ${visibleLine(message)}`,
    ...visible(hint ?? "").split("\n").filter(Boolean).map((line) => indent + paint.dim(line)),
  ]).join("\n");
}
