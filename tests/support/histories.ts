/** Sessions that ran before: journals and an index written as files, without a daemon. */
import { join } from "@std/path";
import { writeAllSync } from "../../src/base/write_all.ts";
import { directoryAt } from "../../src/os/directory_identity.ts";
import { ulidIds } from "../../src/session/ids.ts";
import type { EventData, EventType, SessionEvent } from "../../src/protocol/events.ts";
import { makeSessionDir } from "../../src/session/workdir.ts";
import type { Place } from "./svc.ts";
import { recordOf } from "./sessions.ts";

/** How a session's journal ends: killed, paused, stopped with its daemon, or by a crash. */
export type HistoryEnd = "ended" | "paused" | "stopped" | "cut off";

export interface History {
  id: string;
  workdir: string;
  started_at: string;
  journal_path: string;
  last_seq: number;
  end: HistoryEnd;
}

const ids = ulidIds();

/** Writes records one after the other. */
class Records {
  last_seq = 0;
  bytes = 0;
  readonly #at: string;
  readonly #file: Deno.FsFile;
  #text = "";

  constructor(path: string, at: string) {
    this.#at = at;
    this.#file = Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
  }

  add<T extends EventType>(type: T, data: EventData[T]): void {
    const event = { seq: ++this.last_seq, at: this.#at, type, data } as SessionEvent;
    this.#text += recordOf(event);
    if (this.#text.length > 1e6) this.#write();
  }

  #write(): void {
    const bytes = new TextEncoder().encode(this.#text);
    writeAllSync(this.#file, bytes);
    this.bytes += bytes.length;
    this.#text = "";
  }

  close(): void {
    this.#write();
    this.#file.close();
  }
}

function write(workdir: string, end: HistoryEnd, at: string, fill: (to: Records) => void): History {
  const id = ids.next("sess");
  const journal_path = join(makeSessionDir(workdir, id), "journal.ndjson");
  const records = new Records(journal_path, at);
  records.add("session.created", {
    workdir,
    model: "builtin/toolbelt",
    title: "old",
    approval: "auto",
    directory: directoryAt(workdir),
  });
  const lane_id = "main";
  records.add("lane.created", { lane_id, kind: "main", label: "old", started_at: at });
  fill(records);
  if (end === "ended") records.add("session.ended", { reason: "killed" });
  if (end === "paused") records.add("session.paused", { reason: "operator" });
  if (end === "stopped") records.add("session.paused", { reason: "daemon_shutdown" });
  records.close();
  return { id, workdir, started_at: at, journal_path, last_seq: records.last_seq, end };
}

const WORDS = "some words of an answer ";
const USAGE = { tokens_in: 100, tokens_out: 10, tokens_cached: 0, usd: 0.01 };

function addTurn(to: Records, number: number, deltas: number): void {
  const turn_id = `turn_${number}`;
  to.add("user.message", { message_id: `msg_${number}`, text: "go on" });
  const { last_seq } = to;
  to.add("turn.started", { turn_id, model: "builtin/toolbelt" });
  for (let n = 0; n < deltas; n++) {
    const delta_seq = (number - 1) * deltas + n + 1;
    to.add("session.delta", { turn_id, text: WORDS });
    const content_block = { type: "text", text: WORDS } as const;
    to.add("lane.delta", { lane_id: "main", delta_seq, content_block });
  }
  const { usd: usd_delta, ...tokens } = USAGE;
  to.add("cost.tick", { usd_delta, ...tokens, seen_seq: last_seq });
  const message = WORDS.repeat(deltas);
  to.add("turn.completed", { turn_id, stop_reason: "ok", message, usage: USAGE });
}

/** A session of two short turns. */
export function writeSession(
  workdir: string,
  end: HistoryEnd,
  at: string = new Date().toISOString(),
): History {
  return write(workdir, end, at, (to) => {
    for (let number = 1; number <= 2; number++) addTurn(to, number, 5);
  });
}

/** A session whose journal is about so long: turns of many deltas. */
export function writeHistory(workdir: string, bytes: number): History {
  return write(workdir, "cut off", new Date().toISOString(), (to) => {
    for (let number = 1; to.bytes < bytes; number++) addTurn(to, number, 200);
  });
}

/** Writes the index of a home that no daemon uses. */
export function writeIndex({ home }: Place, histories: readonly History[]): void {
  Deno.mkdirSync(home, { recursive: true, mode: 0o700 });
  const entries = Object.fromEntries(
    histories.map(({ id, end: _, ...entry }) => [id, entry]),
  );
  const path = join(home, "sessions-index.json");
  Deno.writeTextFileSync(path, JSON.stringify(entries), { mode: 0o600 });
}
