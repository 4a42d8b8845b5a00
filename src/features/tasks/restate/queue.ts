/**
 * Whose turn it is. It is pure: the object `svc-queue` keeps what this decides.
 *
 * The ids of waiting tasks are kept in parts, so that a step changes little however many wait.
 */
import { type Cost, refusalOf } from "../quota.ts";
import { KEEP_TASKS } from "../task.ts";
import {
  type Dropped,
  type Enter,
  type Entered,
  type Entry,
  type Missed,
  type Move,
  PAGE_TASKS,
  type QueueState,
} from "./api.ts";

/** What one owner uses, and the ends of its part of the line. */
interface Owner {
  /** The place of its next task, and the place behind its last one. */
  head: number;
  tail: number;
  queued: number;
  running: number;
  bytes: number;
  /** USD by hour since 1970. */
  hours: Record<string, number>;
}

export interface QueueData extends Omit<QueueState, "workers"> {
  /** The operator's limit. */
  limit?: number;
  owners: Record<string, Owner>;
  last_turn: string;
  /** Tasks that ended in line; their places are skipped. */
  gone: string[];
  processes: Record<string, { slots: number; at: number }>;
}

/** Returns the data of a queue that nobody has used. */
export function emptyQueue(): QueueData {
  return {
    paused: false,
    busy: 0,
    counts: { queued: 0, running: 0, completed: 0, failed: 0 },
    next_seq: 1,
    oldest_seq: 1,
    owners: {},
    last_turn: "",
    gone: [],
    processes: {},
    fresh: [],
    lines: [],
  };
}

/** The line in parts, each a list of ids. */
export interface Parts {
  get(name: string): Promise<string[] | null>;
  /** Removes a part without ids. */
  set(name: string, ids: string[]): void;
}

/** What a step starts elsewhere. */
export interface Effects {
  /** Gives a waiting task its turn. */
  grant(id: string, turn: string): void;
  /** Moves entries to their page. Until that is done, they are still shown from here. */
  put(page: number, entries: Entry[]): Promise<void>;
  /** Removes a page, if all of its tasks have ended. */
  drop(page: number): void;
}

type Who = Pick<Enter, "hired" | "owner">;

const PART_IDS = 100;
const FRESH_MAX = 12;
/** Larger records are read from their task. */
const RECORD_CHARS_MAX = 4_000;
const LINES_MAX = 50;
/** A worker that has not been heard of for so long does not count. */
export const ANNOUNCED_MS = 180_000;
const HOUR_MS = 3_600_000;
/**
 * How many attempts are under way at once: of tasks with a client that waits, and of others. By
 * default Restate has 1,000 calls under way; attempts must leave room for those that they make.
 */
export const AT_ONCE_MAX = 400;
const SOON_S = 5;
/** How often, in ended tasks, the oldest page is tried. */
const DROP_EVERY = 20;

export class Queue {
  readonly #data: QueueData;
  readonly #parts: Parts;
  readonly #effects: Effects;
  readonly #keep: number;

  /** @param keep how many ended tasks are kept */
  constructor(data: QueueData, parts: Parts, effects: Effects, keep = KEEP_TASKS) {
    this.#data = data;
    this.#parts = parts;
    this.#effects = effects;
    this.#keep = keep;
  }

  /** Accepts a task, or says why not. One that a client waits for needs no turn. */
  async enter({ id, mode, bytes, quota, now, ...who }: Enter): Promise<Entered> {
    const data = this.#data;
    const owner = this.#owner(who);
    if (quota !== undefined && who.hired) {
      const refusal = refusalOf({ mode, bytes }, quota, {
        count: (status) => owner[status],
        bytes: () => owner.bytes,
        costs: () => costsOf(owner, now),
      }, now);
      if (refusal !== undefined) {
        const { message, hint, details } = refusal;
        return { refused: { code: "budget_exceeded", message, hint, details } };
      }
    }
    if (mode === "sync" && data.counts.running - data.busy >= AT_ONCE_MAX) {
      const message = `clients already wait for ${AT_ONCE_MAX} tasks`;
      const hint = "try again later, or send `Prefer: respond-async`";
      return {
        refused: { code: "unavailable", message, hint, details: { retry_after_s: SOON_S } },
      };
    }
    const seq = data.next_seq++;
    owner.bytes += bytes;
    await this.#show({ seq, id, turn: turnOf(who), bytes });
    if (mode === "sync") {
      this.#count(owner, "running", 1);
      return { seq, granted: true };
    }
    this.#count(owner, "queued", 1);
    await this.#append(who, id);
    let granted = false;
    await this.#pump(now, (next, turn) => {
      if (next === id) granted = true;
      else this.#effects.grant(next, turn);
    });
    return { seq, granted };
  }

  /** Records that a task ends, or waits for another attempt, or for its next turn. */
  async move(move: Move): Promise<void> {
    const { id, now, mode, from, to, lost, ...who } = move;
    const data = this.#data;
    const owner = this.#owner(who);
    if (lost !== undefined) delete data.processes[lost];
    if (from === "running" && mode === "queue") data.busy--;
    if (from === "line" && to === "ended") data.gone.push(id);
    if (from === "running" || to === "ended") {
      this.#count(owner, from === "running" ? "running" : "queued", -1);
    }
    if (to === "ended") await this.#end(owner, move);
    else if (from === "running") this.#count(owner, "queued", 1);
    if (to === "line") await this.#append(who, id);
    await this.#pump(now, this.#effects.grant);
  }

  /** Takes back the turn of a task that ended in line, while its turn was on its way. */
  async missed({ id, turn, now }: Missed): Promise<void> {
    const data = this.#data;
    const owner = this.#ownerOf(turn);
    this.#count(owner, "running", -1);
    // Its end has counted it as one that waits.
    this.#count(owner, "queued", 1);
    data.busy--;
    data.gone = data.gone.filter((it) => it !== id);
    await this.#pump(now, this.#effects.grant);
  }

  async #end(owner: Owner, { id, seq, record, hired, owner: key, now }: Move) {
    const data = this.#data;
    const { artifacts = [], usage } = record ?? {};
    const ended_as = record?.status === "completed" ? "completed" : "failed";
    const bytes = artifacts.reduce((sum, { size }) => sum + size, 0);
    const usd = usage?.usd;
    owner.bytes += bytes;
    if (typeof usd === "number" && usd > 0) {
      const hour = Math.floor(now / HOUR_MS);
      owner.hours[hour] = (owner.hours[hour] ?? 0) + usd;
      for (const old of Object.keys(owner.hours)) {
        if (Number(old) < hour - 24) delete owner.hours[old];
      }
    }
    data.counts[ended_as]++;
    const small = record !== undefined && JSON.stringify(record).length <= RECORD_CHARS_MAX;
    const turn = turnOf({ hired, owner: key });
    await this.#show({ seq, id, turn, bytes, ended: ended_as, record: small ? record : undefined });
    const ended = data.counts.completed + data.counts.failed;
    if (ended > this.#keep && ended % DROP_EVERY === 0) this.#effects.drop(pageOf(data.oldest_seq));
  }

  /** Changes settings, and writes a line about it. */
  async set(
    { now, paused, workers }: { now: number; paused?: boolean; workers?: number },
  ): Promise<void> {
    const data = this.#data;
    const line = (event: string, detail: string) => {
      data.lines.push({ at: new Date(now).toISOString(), event, detail });
      data.lines = data.lines.slice(-LINES_MAX);
    };
    if (paused !== undefined && paused !== data.paused) {
      data.paused = paused;
      line(paused ? "paused" : "resumed", String(paused));
    }
    if (workers !== undefined && workers !== data.limit) {
      data.limit = workers;
      line("workers", String(workers));
    }
    await this.#pump(now, this.#effects.grant);
  }

  /** Records that a worker runs, with so many slots; with none, it stops. */
  async announce(
    { process, slots, now }: { process: string; slots: number; now: number },
  ): Promise<void> {
    const { processes } = this.#data;
    if (slots > 0) processes[process] = { slots, at: now };
    else delete processes[process];
    for (const [name, { at }] of Object.entries(processes)) {
      if (at < now - ANNOUNCED_MS) delete processes[name];
    }
    await this.#pump(now, this.#effects.grant);
  }

  /** Records that a page has been removed. */
  dropped({ page, ended, bytes }: Dropped): void {
    const data = this.#data;
    data.oldest_seq = Math.max(data.oldest_seq, (page + 1) * PAGE_TASKS);
    data.counts.completed -= ended.completed;
    data.counts.failed -= ended.failed;
    for (const [turn, n] of Object.entries(bytes)) {
      const owner = data.owners[turn];
      if (owner === undefined) continue;
      owner.bytes -= n;
      const { queued, running, hours } = owner;
      if (queued + running + owner.bytes === 0 && Object.keys(hours).length === 0) {
        delete data.owners[turn];
      }
    }
  }

  state(now: number): QueueState {
    const { owners: _, last_turn: _l, gone: _g, processes: _p, limit: _m, ...shown } = this.#data;
    return { ...shown, workers: this.#slots(now) };
  }

  #slots(now: number): number {
    const slots = Object.values(this.#data.processes)
      .filter(({ at }) => at >= now - ANNOUNCED_MS)
      .reduce((sum, { slots }) => sum + slots, 0);
    return Math.min(slots, this.#data.limit ?? slots, AT_ONCE_MAX);
  }

  /** Gives turns to as many tasks as there are free workers. Owners take turns. */
  async #pump(now: number, grant: Effects["grant"]): Promise<void> {
    const data = this.#data;
    const slots = this.#slots(now);
    while (!data.paused && data.busy < slots) {
      const turn = this.#nextTurn();
      if (turn === undefined) return;
      data.last_turn = turn;
      const id = await this.#take(turn);
      const gone = data.gone.indexOf(id);
      if (gone >= 0) {
        data.gone.splice(gone, 1);
        continue;
      }
      const owner = data.owners[turn];
      this.#count(owner, "queued", -1);
      this.#count(owner, "running", 1);
      data.busy++;
      grant(id, turn);
    }
  }

  #nextTurn(): string | undefined {
    const { owners, last_turn } = this.#data;
    const waiting = Object.keys(owners).filter((turn) => owners[turn].head < owners[turn].tail)
      .sort();
    return waiting.find((turn) => turn > last_turn) ?? waiting[0];
  }

  async #append(who: Who, id: string): Promise<void> {
    const owner = this.#owner(who);
    const name = partOf(turnOf(who), owner.tail++);
    this.#parts.set(name, [...await this.#parts.get(name) ?? [], id]);
  }

  async #take(turn: string): Promise<string> {
    const owner = this.#data.owners[turn];
    const place = owner.head++;
    const name = partOf(turn, place);
    const ids = await this.#parts.get(name) ?? [];
    if (place % PART_IDS === PART_IDS - 1) this.#parts.set(name, []);
    return ids[place % PART_IDS];
  }

  #owner(who: Who): Owner {
    return this.#ownerOf(turnOf(who));
  }

  #ownerOf(turn: string): Owner {
    return this.#data.owners[turn] ??= {
      head: 0,
      tail: 0,
      queued: 0,
      running: 0,
      bytes: 0,
      hours: {},
    };
  }

  #count(owner: Owner, status: "queued" | "running", by: 1 | -1): void {
    owner[status] += by;
    this.#data.counts[status] += by;
  }

  /** Shows a task in lists. */
  async #show(entry: Entry): Promise<void> {
    const data = this.#data;
    const earlier = data.fresh.findIndex(({ seq }) => seq === entry.seq);
    if (earlier < 0) data.fresh.push(entry);
    else data.fresh[earlier] = { ...entry, bytes: entry.bytes + data.fresh[earlier].bytes };
    if (data.fresh.length < FRESH_MAX) return;
    for (const [page, entries] of Map.groupBy(data.fresh, ({ seq }) => pageOf(seq))) {
      await this.#effects.put(page, entries);
    }
    data.fresh = [];
  }
}

/** Returns the page of a task. */
export function pageOf(seq: number): number {
  return Math.floor(seq / PAGE_TASKS);
}

/** Whose task it is, for taking turns: a token's, that of hirers without one, or the operator's. */
function turnOf({ hired, owner }: Who): string {
  return owner !== undefined ? `k ${owner}` : hired ? "h" : "o";
}

function partOf(turn: string, place: number): string {
  return `line ${Math.floor(place / PART_IDS)} ${turn}`;
}

function costsOf({ hours }: Owner, now: number): Cost[] {
  const since = Math.floor(now / HOUR_MS) - 24;
  return Object.entries(hours)
    .map(([hour, usd]) => ({ at: Number(hour) * HOUR_MS, usd }))
    .filter(({ at }) => at / HOUR_MS > since)
    .sort((a, b) => a.at - b.at);
}
