import type { Finding } from "../doctor/check.ts";
import { RESTART_HINT } from "../doctor/daemon_checks.ts";
import { examine } from "../doctor/examine.ts";
import { parseFlags, UsageError } from "./args.ts";
import { painter, wantsColour } from "./chat_render.ts";
import { env, ownPaths } from "./environment.ts";
import { restartInstalled } from "./restart_installed.ts";

const HELP = `Checks that everything svc needs is well. Nothing is changed.

Usage: svc doctor [--json]

  --json    machine-readable output

Exit code 0 when nothing fails, 1 otherwise; a warning is not a failure.`;

/** Runs `svc doctor`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, rest } = parseFlags(argv, { boolean: ["json"] });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  if (rest.length > 0) throw new UsageError(`svc doctor takes no argument "${rest[0]}"`);
  const paths = ownPaths();
  const findings = await examine(paths, env);
  const ok = findings.every(({ status }) => status !== "fail");
  if (boolean.json) {
    console.log(JSON.stringify({ ok, checks: findings }, null, 2));
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

function report(findings: readonly Finding[]): string {
  const paint = painter(wantsColour(Deno.stdout));
  const colours = { ok: paint.green, warn: paint.yellow, fail: paint.red };
  const width = Math.max(...findings.map(({ name }) => name.length));
  const indent = " ".repeat(4 + 2 + width + 2);
  return findings.flatMap(({ name, status, message, hint }) => [
    `${colours[status](status.padEnd(4))}  ${name.padEnd(width)}  ${message}`,
    ...(hint ?? "").split("\n").filter(Boolean).map((line) => indent + paint.dim(line)),
  ]).join("\n");
}
