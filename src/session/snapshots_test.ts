import { assert, assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { newSession, recordOf, TempDir } from "../../tests/support/sessions.ts";
import { Random } from "../../tests/support/random.ts";
import type { EventData, EventType, SessionEvent } from "../protocol/events.ts";
import { Journal } from "./journal.ts";
import { Snapshots } from "./snapshots.ts";
import { type SessionState, stateToCheckpoint } from "./session_state.ts";
import { applyToState, emptyState } from "./state.ts";
import { Transcript } from "./transcript.ts";

const ignore = !granted("read", "write");
const at = "2026-01-02T03:04:05.678Z";

/** Events of turns with texts, tool calls and messages that come in between; also of an open turn. */
function* turns(random: Random, count: number): Generator<SessionEvent> {
  let seq = 0;
  const event = <T extends EventType>(type: T, data: EventData[T]) =>
    ({ seq: ++seq, at, type, data }) as SessionEvent;
  const text = () => "word ".repeat(1 + random.below(20));
  yield event("session.created", { workdir: "/w", model: "m/m", title: "t", approval: "ask" });
  for (let n = 0; n < count; n++) {
    const turn_id = `turn_${n}`;
    yield event("user.message", { message_id: `msg_${n}`, text: text() });
    yield event("turn.started", { turn_id, model: "m/m" });
    for (let step = 0; step <= random.below(3); step++) {
      const seen_seq = seq;
      yield event("session.delta", { turn_id, text: text() });
      if (random.chance(0.3)) {
        yield event("user.message", { message_id: `msg_${n}_${step}`, text: text() });
      }
      const usage = { tokens_in: 1, tokens_out: 2, tokens_cached: 0 };
      yield event("cost.tick", { usd_delta: 0.1, ...usage, seen_seq });
      const call = { call_id: `call_${n}_${step}`, tool: "read" };
      yield event("session.tool_started", { ...call, args: { n }, lane_id: "main" });
      const result = { ok: true, duration_ms: 1, output: text(), truncated: false };
      if (random.chance(0.8)) yield event("session.tool_completed", { ...call, ...result });
    }
    const usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };
    yield event("turn.completed", { turn_id, stop_reason: "ok", message: "m", usage });
  }
}

/** A state without what is undefined in it. */
function plain(state: SessionState): unknown {
  return JSON.parse(JSON.stringify(stateToCheckpoint(state)));
}

Deno.test({
  name: "a snapshot of any moment, and what follows it, is the same as the whole (100 seeds)",
  ignore,
  async fn() {
    using dir = new TempDir();
    const snapshots = new Snapshots(dir.path);
    for (let seed = 0; seed < 100; seed++) {
      const random = new Random(seed);
      const events = [...turns(random, 4)];
      const taken_at = 1 + random.below(events.length);
      const path = dir.join(`${seed}.ndjson`);
      const journal = Journal.create(path);
      const state = emptyState("sess_1");
      const transcript = new Transcript();
      const append = async (event: SessionEvent) => {
        const { seq } = event;
        const lines = recordOf(event);
        await journal.append({ lines, first_seq: seq, last_seq: seq, at, durable: false });
        applyToState(state, event);
        transcript.apply(event);
      };
      for (const event of events.slice(0, taken_at)) await append(event);
      await snapshots.write(state, transcript, journal);
      for (const event of events.slice(taken_at)) await append(event);
      journal.release();

      const snapshot = (await snapshots.read("sess_1"))!;
      const kept = (await snapshots.readTranscript("sess_1"))!;
      let read = 0;
      const opened = await Journal.open(path, {
        from: snapshot.place,
        onRecord(event) {
          read++;
          applyToState(snapshot.state, event);
          kept.transcript.apply(event);
        },
      });
      assertEquals([read, kept.seq], [events.length - taken_at, taken_at]);
      assertEquals(plain(snapshot.state), plain(state), `seed ${seed}`);
      const said = JSON.stringify(transcript.messages());
      assertEquals(JSON.stringify(kept.transcript.messages()), said, `seed ${seed}`);
      assertEquals(kept.transcript.waiting, transcript.waiting);
      const since = random.below(events.length);
      const replayed = await Array.fromAsync(opened.journal.read(since));
      assertEquals(replayed, events.slice(since), "what is before it can be read too");
      opened.journal.release();
    }
  },
});

Deno.test({
  name: "a snapshot that is damaged, of another session or of a later form is as good as none",
  ignore,
  async fn() {
    using dir = new TempDir();
    const snapshots = new Snapshots(dir.path);
    const session = await newSession(dir.join("journal.ndjson"));
    await snapshots.write(session.state, new Transcript(), session.journal);
    const path = snapshots.path("sess_1");
    const text = Deno.readTextFileSync(path);
    assert(await snapshots.read("sess_1") !== undefined);
    const damages = [
      "",
      "garbage\n{}\n",
      text.slice(0, 20),
      text.replace('"id":"sess_1"', '"id":"sess_2"'),
      text.replace('{"form":2', '{"form":3'),
    ];
    for (const damaged of damages) {
      Deno.writeTextFileSync(path, damaged);
      assertEquals(await snapshots.read("sess_1"), undefined, damaged);
    }
    Deno.writeTextFileSync(path, text.slice(0, text.lastIndexOf("}")));
    assertEquals(await snapshots.readTranscript("sess_1"), undefined);
    await snapshots.remove("sess_1");
    assertEquals(await snapshots.read("sess_1"), undefined);
    session.journal.release();
  },
});
