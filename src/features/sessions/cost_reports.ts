/** Costs over time and by group. */
import {
  addSpent,
  type Bucket,
  bucketsOf,
  CostBuckets,
  costsOf,
  nothingSpent,
  type Spent,
} from "../../session/costs.ts";
import { shownTitle } from "../../session/titles.ts";
import type { Hub } from "../../session/hub.ts";
import type { Session } from "../../session/session.ts";
import type { HourCost } from "../../session/session_state.ts";

interface Period {
  /** RFC 3339; earlier costs do not count. */
  since?: string;
  bucket: Bucket;
  /** Whose days and hours the buckets are. */
  time_zone?: string;
}

/** Returns the costs by time. @throws {SvcError} not_found. */
export async function costHistory(
  hub: Hub,
  { session_id, since, bucket, time_zone }: Period & { session_id?: string },
) {
  const sums = new CostBuckets(bucketsOf(bucket, time_zone), since);
  for (const session of await hub.some(session_id)) {
    for await (const cost of costsOf(session, bucket)) sums.add(cost);
  }
  if (session_id === undefined) { for (const cost of await hub.deletedCosts()) sums.add(cost); }
  return {
    buckets: sums.buckets.map(({ at, usd, tokens_in, tokens_out }) => {
      return { at, usd, tokens: tokens_in + tokens_out };
    }),
  };
}

type By = "session" | "model" | "workdir";

interface Wanted extends Period {
  by: By;
  /** Costs of others do not count. */
  model?: string;
  workdir?: string;
  limit: number;
}

/** Returns the costs by session, model or directory, most expensive first. @throws the signal's reason. */
export async function costBreakdown(
  hub: Hub,
  { by, since, bucket, time_zone, limit, model, workdir }: Wanted,
  signal: AbortSignal,
) {
  const startOf = bucketsOf(bucket, time_zone);
  const sums = new Map<string, { title?: string; sums: CostBuckets }>();
  for (const session of await hub.some(undefined)) {
    signal.throwIfAborted();
    if (workdir !== undefined && session.state.workdir !== workdir) continue;
    const newest = session.state.cost_hours.at(-1);
    // This avoids reading its journal.
    if (newest === undefined || !new CostBuckets(startOf, since).covers(newest)) continue;
    for await (const cost of costsOf(session, bucket)) {
      if (model !== undefined && (cost.model ?? session.state.model) !== model) continue;
      const { key, title } = groupOf(session, by, cost);
      const group = sums.get(key) ?? { title, sums: new CostBuckets(startOf, since) };
      group.sums.add(cost);
      sums.set(key, group);
    }
  }
  // Of these only the model is known.
  const deleted = new CostBuckets(startOf, since);
  for (const cost of workdir === undefined ? await hub.deletedCosts() : []) {
    if (model !== undefined && cost.model !== model) continue;
    const key = cost.model ?? "";
    const group = by === "model" ? sums.get(key)?.sums ?? new CostBuckets(startOf, since) : deleted;
    group.add(cost);
    if (by === "model") sums.set(key, { sums: group });
  }
  const groups = [...sums].filter(([, { sums }]) => sums.buckets.length > 0)
    .map(([key, { title, sums }]) => ({ key, title, ...sums.total, buckets: sums.buckets }))
    .sort(dearestFirst);
  const rest: Spent[] = groups.slice(limit);
  if (deleted.buckets.length > 0) rest.push(deleted.total);
  return {
    total: sumOf([...groups.slice(0, limit), ...rest]),
    groups: groups.slice(0, limit),
    ...(rest.length > 0 ? { other: sumOf(rest) } : {}),
  };
}

function groupOf({ id, state }: Session, by: By, { model }: HourCost) {
  if (by === "session") return { key: id, title: shownTitle(state) };
  return { key: by === "workdir" ? state.workdir : model ?? state.model };
}

function dearestFirst(a: Spent, b: Spent): number {
  return b.usd - a.usd || (b.tokens_in + b.tokens_out) - (a.tokens_in + a.tokens_out);
}

function sumOf(costs: readonly Spent[]): Spent {
  const sum = nothingSpent();
  for (const cost of costs) addSpent(sum, cost);
  return sum;
}
