/** The thread of the index, which reads journals and searches without blocking the daemon. */
/// <reference lib="deno.worker" />
import { setImmediate } from "node:timers/promises";
import { delay } from "@std/async";
import { messageOf } from "../../protocol/errors.ts";
import { type Line, readLineBatches } from "../../os/lines.ts";
import { BadRecord, decodeRecord } from "../../session/record.ts";
import { IndexDb, type Reach } from "./index_db.ts";
import type { Answer, Ask, Query, Readable, Told } from "./messages.ts";
import { concerns, saidIn } from "./said.ts";

/** How long a search waits for unread journals. */
const WAIT_MS = 2_000;
/** In rows; removing one takes about a millisecond. */
const LARGE = 2_000;

class Indexer {
  readonly #db: IndexDb;
  readonly #reaches: Map<string, Reach>;
  #pending = new Map<string, Readable>();
  #removing = new Set<string>();
  #working: Promise<void> | undefined;

  constructor(db: IndexDb) {
    this.#db = db;
    this.#reaches = db.reaches();
  }

  async search(sessions: readonly Readable[], query: Query): Promise<Answer> {
    this.#know(sessions);
    this.#working ??= this.#work().finally(() => this.#working = undefined);
    await Promise.race([this.#working, delay(WAIT_MS, { persistent: false })]);
    return { ...this.#db.search(query), pending: this.#pending.size };
  }

  /** Updates the lists of journals to read, newest first, and of sessions to remove. */
  #know(sessions: readonly Readable[]): void {
    const there = new Set(sessions.map(({ id }) => id));
    this.#removing = new Set(this.#reaches.keys().filter((id) => !there.has(id)));
    const changed = sessions.filter(({ id, last_seq }) =>
      (this.#reaches.get(id)?.seq ?? 0) < last_seq
    );
    this.#pending = new Map(changed.toReversed().map((it) => [it.id, it]));
  }

  async #work(): Promise<void> {
    for (;;) {
      const [gone] = this.#removing;
      const [next] = this.#pending.values();
      if (gone === undefined && next === undefined) return;
      if (gone !== undefined) await this.remove(gone);
      else {
        await this.#read(next).catch((error) => {
          // The session itself reports problems of its journal.
          if (!(error instanceof BadRecord || error instanceof Deno.errors.NotFound)) throw error;
        });
        if (this.#pending.get(next.id) === next) this.#pending.delete(next.id);
      }
    }
  }

  /** Whether rebuilding the index is faster than removing the session. */
  isLarge(id: string): boolean {
    const reach = this.#reaches.get(id);
    return reach !== undefined && this.#db.rowsOf(reach) > LARGE;
  }

  async remove(id: string): Promise<void> {
    this.#pending.delete(id);
    const reach = this.#reaches.get(id);
    this.#reaches.delete(id);
    this.#removing.delete(id);
    if (reach === undefined) return;
    let last = false;
    while (!last) {
      this.#db.step(() => last = this.#db.removeSome(reach.n));
      await setImmediate();
    }
    this.#db.emptyLog();
  }

  async #read({ id, journal_path }: Readable): Promise<void> {
    const { ino, dev, size } = await Deno.lstat(journal_path);
    const file = `${dev}:${ino}`;
    let reach = this.#reaches.get(id);
    // Retention has replaced the file.
    if (reach !== undefined && (reach.file !== file || reach.offset > size)) {
      await this.remove(id);
      reach = undefined;
    }
    if (reach === undefined) this.#reaches.set(id, reach = this.#db.begin(id, file));
    for await (const lines of readLineBatches(journal_path, reach.offset, size)) {
      // It was removed meanwhile.
      if (this.#reaches.get(id) !== reach) return;
      const before = { ...reach };
      try {
        this.#db.step(() => this.#takeAll(reach, lines));
      } catch (error) {
        // The transaction was rolled back.
        Object.assign(reach, before);
        throw error;
      }
      await setImmediate();
    }
  }

  #takeAll(reach: Reach, lines: readonly Line[]): void {
    for (const { line, end, whole } of lines) {
      if (!whole) break;
      this.#take(reach, line);
      reach.offset = end;
    }
    this.#db.reached(reach);
  }

  #take(reach: Reach, line: string): void {
    if (!concerns(line)) {
      reach.seq = Number(/"seq":(\d+)/.exec(line.slice(0, 60))?.[1] ?? reach.seq);
      return;
    }
    const event = decodeRecord(line);
    reach.seq = event.seq;
    const at = Date.parse(event.at);
    for (const said of saidIn(event)) this.#db.add(reach, at, said);
    if (event.type === "user.withdrawn") {
      for (const { message_id, seq } of event.data.messages) {
        this.#db.hide(reach, message_id, seq, seq);
      }
    }
    if (event.type !== "session.rewound") return;
    const { rewind_id, conversation, to_seq, undo_of } = event.data;
    if (undo_of !== undefined) this.#db.unhide(reach, undo_of);
    else if (conversation !== undefined) this.#db.hide(reach, rewind_id, to_seq, event.seq);
  }

  async close(): Promise<void> {
    this.#pending.clear();
    this.#removing.clear();
    await this.#working;
    this.#db.close();
  }
}

let indexer: Promise<Indexer> | undefined;

async function answerTo(ask: Ask, path: string): Promise<Answer | undefined> {
  const it = await (indexer ??= IndexDb.open(path).then((db) => new Indexer(db)));
  if (ask.kind === "search") return await it.search(ask.sessions, ask.query);
  if (ask.kind === "remove") {
    if (it.isLarge(ask.id)) throw new Error("it is made again without a large session");
    await it.remove(ask.id);
  } else await it.close();
}

self.onmessage = async ({ data }: MessageEvent<{ n: number; path: string; ask: Ask }>) => {
  const { n, path, ask } = data;
  const told: Told = { n };
  try {
    told.answer = await answerTo(ask, path);
  } catch (error) {
    told.problem = messageOf(error);
  }
  self.postMessage(told);
};
