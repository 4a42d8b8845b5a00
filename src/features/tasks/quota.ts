/** Limits on the hired tasks of one owner, checked in the transaction that adds a task. */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { Statements } from "../../os/statements.ts";
import type { NewTask } from "./lifecycle.ts";
import type { quota_fields } from "./quota_fields.ts";

/** What one owner may use. A field that is missing is unlimited. */
export type Quota = Partial<z.output<z.ZodObject<ReturnType<typeof quota_fields>>>>;

const DAY_MS = 86_400_000;
/** When to ask again: after tasks have probably ended, or old ones have been removed. */
const SOON_S = 10;
const LATER_S = 3_600;

/** The owner's tasks; without tokens, all hired ones. */
const WHOSE = "hired = 1 AND (:owner IS NULL OR owner = :owner)";

/** Those of a task that cannot be read do not count, and refuse no other. */
const EXTRAS = "iif(json_valid(extras), extras, '{}')";

/** What an owner uses. */
export interface Usage {
  count(status: "queued" | "running"): number;
  /** Of requests and artifacts. */
  bytes(): number;
  /** Returns what tasks have cost in the last 24 hours, oldest first. */
  costs(): Cost[];
}

export interface Cost {
  /** In milliseconds since 1970. */
  at: number;
  usd: number;
}

/** Returns the error for a task that exceeds its owner's quota, if it does. */
export function refusalOf(
  task: Pick<NewTask, "mode"> & { bytes: number },
  quota: Quota,
  usage: Usage,
  now: number,
): SvcError | undefined {
  const { max_queued, max_running, max_bytes, max_usd_day } = quota;
  const refused = (limit: keyof Quota, used: string, action: string, retry_after_s: number) =>
    new SvcError("budget_exceeded", `${used}, and [hire] ${limit} is ${quota[limit]}`, {
      hint: `${action}; the operator can raise ${limit} in daemon.toml`,
      details: { limit, value: quota[limit], retry_after_s },
    });

  if (task.mode === "queue" && max_queued !== undefined) {
    const n = usage.count("queued");
    if (n >= max_queued) {
      const action = "wait until some have started, or cancel some";
      return refused("max_queued", `${n} tasks are queued`, action, SOON_S);
    }
  }
  if (task.mode === "sync" && max_running !== undefined) {
    const n = usage.count("running");
    if (n >= max_running) {
      const action = "wait until one has ended, or send `Prefer: respond-async` to queue the task";
      return refused("max_running", `${n} tasks are running`, action, SOON_S);
    }
  }
  if (max_bytes !== undefined) {
    const total = usage.bytes() + task.bytes;
    if (total > max_bytes) {
      const used = `requests and artifacts would take ${total} bytes with this one`;
      return refused("max_bytes", used, "wait until svc has removed old tasks", LATER_S);
    }
  }
  if (max_usd_day !== undefined) {
    const costs = usage.costs();
    const spent = costs.reduce((sum, { usd }) => sum + usd, 0);
    if (spent >= max_usd_day) {
      const used = `tasks have cost $${spent.toFixed(4)} in 24 hours`;
      const wait_s = waitFor(costs, spent, max_usd_day, now);
      return refused("max_usd_day", used, `try again in ${wait_s} s`, wait_s);
    }
  }
}

/** Returns what an owner uses, from the database. */
export function storedUsage(db: Statements, owner: string | null, now: number): Usage {
  return {
    count: (status) =>
      db.get(`SELECT count(*) AS n FROM tasks WHERE status = '${status}' AND ${WHOSE}`, { owner })!
        .n as number,
    bytes: () =>
      db.get(
        `SELECT coalesce(sum(length(CAST(request AS BLOB)) + (
           SELECT coalesce(sum(value ->> 'size'), 0) FROM json_each(${EXTRAS}, '$.artifacts'))), 0) AS n
         FROM tasks WHERE ${WHOSE}`,
        { owner },
      )!.n as number,
    costs: () =>
      db.all(
        `SELECT completed_at AS at, ${EXTRAS} ->> '$.usage.usd' AS usd FROM tasks
         WHERE completed_at > :since AND ${EXTRAS} ->> '$.usage.usd' > 0 AND ${WHOSE}
         ORDER BY completed_at`,
        { owner, since: new Date(now - DAY_MS).toISOString() },
      ).map(({ at, usd }) => ({ at: Date.parse(at as string), usd: usd as number })),
  };
}

/** Returns the size of a request in bytes. */
export function bytesOf(request: NewTask["request"]): number {
  return new TextEncoder().encode(JSON.stringify(request)).length;
}

/** Returns the seconds until so many costs are a day old that the rest is below the limit. */
function waitFor(costs: readonly Cost[], spent: number, limit: number, now: number): number {
  let rest = spent;
  for (const { at, usd } of costs) {
    rest -= usd;
    if (rest < limit) return Math.max(1, Math.ceil((at + DAY_MS - now) / 1000));
  }
  return DAY_MS / 1000;
}
