/** Appends to the real journal: `deno bench --allow-read --allow-write bench/journal_bench.ts`. */
import { join } from "@std/path";
import type { SessionEvent } from "../src/protocol/events.ts";
import { Journal } from "../src/session/journal.ts";
import { encodeRecord } from "../src/session/record.ts";

const BATCH = 100;

/** A journal and the events that go into it; its file is gone as soon as the process is. */
class Writer {
  readonly #journal: Journal;

  constructor() {
    const dir = Deno.makeTempDirSync({ prefix: "svc-bench-" });
    this.#journal = Journal.create(join(dir, "journal.ndjson"));
    Deno.removeSync(dir, { recursive: true });
  }

  /** Appends `count` deltas in one write, made into lines as a session does it. */
  async append(count: number, durable: boolean): Promise<void> {
    const at = new Date().toISOString();
    const first = this.#journal.last_seq + 1;
    let lines = "";
    for (let n = 0; n < count; n++) {
      const data = { turn_id: "turn_01JZZZZZZZZZZZZZZZZZZZZZZZ", text: `word ${n}, and more ` };
      const event: SessionEvent = { seq: first + n, at, type: "session.delta", data };
      lines += encodeRecord(event, JSON.stringify(data));
    }
    const last_seq = first + count - 1;
    await this.#journal.append({ lines, first_seq: first, last_seq, at, durable });
  }
}

let made: Writer | undefined;
const writer = () => made ??= new Writer();

Deno.bench("1 record", async () => await writer().append(1, false));
Deno.bench(`${BATCH} records in one write`, async () => await writer().append(BATCH, false));
Deno.bench("1 record, fsync", { n: 300, warmup: 20 }, async () => await writer().append(1, true));
