/** Former command names; each works and says what to type instead (product.md, Versioning rule 6). */
import { nearestOf } from "../base/nearest.ts";
import { UsageError } from "./args.ts";

/** Commands of the queue, which `svc daemon` had once. */
const QUEUE = ["enqueue", "status", "workers", "pause", "resume", "wal", "tasks"];

const HELP = `Former name of other commands.

Usage: svc daemon <command> …

  start [--addr <host:port>]     now svc serve
  ${QUEUE.join("|")}
                                 now svc ctl <command>`;

/** Runs `svc daemon`. */
export async function daemon([name, ...rest]: string[]): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h") {
    console.log(HELP);
    return name === undefined ? 2 : 0;
  }
  if (name === "start") {
    deprecated("svc daemon start", "svc serve");
    return await (await import("./serve.ts")).run(rest);
  }
  if (QUEUE.includes(name)) {
    deprecated(`svc daemon ${name}`, `svc ctl ${name}`);
    return await (await import("./ctl.ts")).run([name, ...rest]);
  }
  const nearest = nearestOf(name, ["start", ...QUEUE]);
  const hint = nearest ? `did you mean "${nearest}"?` : `known: start, ${QUEUE.join(", ")}`;
  throw new UsageError(`svc daemon has no command "${name}"; ${hint}`);
}

/** Runs `svc agent-serve`. */
export async function agentServe(argv: string[]): Promise<number> {
  deprecated("svc agent-serve", "svc serve --enable-agent-routes");
  return await (await import("./serve.ts")).run(["--enable-agent-routes", ...argv]);
}

function deprecated(former: string, now: string): void {
  console.error(`svc: \`${former}\` is deprecated, use \`${now}\``);
}
