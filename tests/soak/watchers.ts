/** Subscribers that keep no events: each checks their order and folds them into one hash. */
import { createHash } from "node:crypto";
import { decodeRecord } from "../../src/session/record.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { readLines } from "../../src/os/lines.ts";
import {
  type Observer,
  SocketObserver,
  SseObserver,
  WebSocketObserver,
} from "../support/observers.ts";
import type { Daemon } from "../support/svc.ts";
import type { Delays } from "./series.ts";

/** A hash over events in their order, whichever way their fields came. */
class Digest {
  readonly #hash = createHash("sha256");
  count = 0;

  add({ seq, at, type, data }: SessionEvent): void {
    const fields = Object.entries(data).sort(([a], [b]) => a < b ? -1 : 1);
    this.#hash.update(JSON.stringify([seq, at, type, fields]));
    this.count++;
  }

  hex(): string {
    return this.#hash.copy().digest("hex");
  }
}

/** What one watcher saw, held against the journal at the end. */
export class Seen {
  readonly over: string;
  readonly digest = new Digest();
  last_seq = 0;
  /** Events that did not follow the one before. */
  misplaced = 0;
  onEvent: (event: SessionEvent) => void = () => {};
  readonly #delays: Delays[];

  constructor(over: string, delays: Delays[]) {
    this.over = over;
    this.#delays = delays;
  }

  take(event: SessionEvent): void {
    const late = Date.now() - Date.parse(event.at);
    for (const delays of this.#delays) delays.add(late);
    if (event.seq !== this.last_seq + 1) this.misplaced++;
    this.last_seq = event.seq;
    this.digest.add(event);
    this.onEvent(event);
  }
}

/** Three watchers of one session, one over each transport, subscribed from its first event. */
export async function watch(
  daemon: Daemon,
  session_id: string,
  delays: Delays[],
): Promise<Watched> {
  const kinds = { socket: SocketObserver, websocket: WebSocketObserver, sse: SseObserver };
  const all: Seen[] = [];
  const observers: Observer[] = [];
  for (const [over, Kind] of Object.entries(kinds)) {
    const seen = new Seen(over, delays);
    const observer = folding(new Kind(session_id), seen);
    await observer.connect(daemon);
    all.push(seen);
    observers.push(observer);
  }
  return { all, observers };
}

export interface Watched {
  all: Seen[];
  observers: Observer[];
}

/** Has the watchers go on with the next daemon, each behind the last event it had. */
export async function watchAgain(daemon: Daemon, { observers }: Watched): Promise<void> {
  for (const observer of observers) {
    await observer.gone();
    await observer.connect(daemon);
  }
}

/** Has an observer hand on what it is sent instead of keeping it. */
function folding(observer: Observer, seen: Seen): Observer {
  return Object.defineProperties(observer, {
    take: { value: (event: SessionEvent) => seen.take(event) },
    last_seq: { get: () => seen.last_seq },
  });
}

/** What is wrong with what the watchers of a session saw; its journal says what there was. */
export async function compare(
  path: string,
  { all, observers }: Watched,
): Promise<{ events: number; problems: string[] }> {
  const digest = new Digest();
  let last_seq = 0;
  const { size } = Deno.statSync(path);
  for await (const { line } of readLines(path, 0, size)) {
    const event = decodeRecord(line);
    digest.add(event);
    last_seq = event.seq;
  }
  const problems: string[] = [];
  if (digest.count !== last_seq) problems.push(`${path} has ${digest.count} of ${last_seq} events`);
  await Promise.all(observers.map((it) => it.reach(last_seq, 10_000).catch(() => {})));
  for (const seen of all) {
    const { over, misplaced } = seen;
    if (misplaced > 0) problems.push(`${path}, ${over}: ${misplaced} events out of order`);
    if (seen.digest.count !== digest.count) {
      problems.push(`${path}, ${over}: received ${seen.digest.count} of ${digest.count} events`);
    } else if (seen.digest.hex() !== digest.hex()) {
      problems.push(`${path}, ${over}: received other events than the journal has`);
    }
  }
  return { events: digest.count, problems };
}
