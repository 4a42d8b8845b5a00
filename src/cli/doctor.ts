import type { Finding } from "./doctor/check.ts";
import { RESTART_HINT } from "./doctor/daemon_checks.ts";
import { examine } from "./doctor/examine.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { painter } from "./chat_render.ts";
import { env, ownPaths } from "./environment.ts";
import { restartInstalled } from "./restart_installed.ts";
import type { DOCTOR } from "./table/chat.ts";
import { visible, visibleLine } from "../base/visible.ts";
import { print, withDaemon } from "./daemon_call.ts";
import { table } from "./table.ts";
import { named } from "./own_name.ts";

/** Runs `svc doctor`. */
export async function run({ flags }: Input<typeof DOCTOR>): Promise<number> {
  if (flags.cache) return await checkCache(flags.model, flags.json);
  if (flags.model !== undefined) throw new UsageError("--model requires --cache");
  const paths = ownPaths();
  const findings = await examine(paths, env);
  const ok = findings.every(({ status }) => status !== "fail");
  if (flags.json) {
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
  const paint = painter(Deno.stdout);
  const colours = { ok: paint.success, warn: paint.warning, fail: paint.error };
  const width = Math.max(...findings.map(({ name }) => name.length));
  const indent = " ".repeat(4 + 2 + width + 2);
  return findings.flatMap(({ name, status, message, hint }) => [
    `${colours[status](status.padEnd(4))}  ${name.padEnd(width)}  ${visibleLine(named(message))}`,
    ...visible(named(hint ?? "")).split("\n").filter(Boolean).map((line) =>
      indent + paint.dim(line)
    ),
  ]).join("\n");
}
