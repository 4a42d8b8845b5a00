/**
 * `kill -9` while turns stream: what anyone saw is there afterwards, and everything goes on.
 *
 * SVC_KILLS sets the number of kills, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { decodeRecord } from "../../src/session/record.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import {
  type Observer,
  SocketObserver,
  SseObserver,
  WebSocketObserver,
} from "../support/observers.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/scripted.ts";
import { range } from "../support/sessions.ts";
import { can_run_svc, Place, svcCommand } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const ROUNDS = Number(can_run_svc && Deno.env.get("SVC_KILLS") || 8);
const seed = () => Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9));

function journalPath(workdir: string, session_id: string): string {
  return join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
}

function readJournal(path: string): SessionEvent[] {
  const text = Deno.readTextFileSync(path);
  assert(text.endsWith("\n"), "the last line is whole");
  return text.trimEnd().split("\n").map(decodeRecord);
}

/** Each turn has one end, which keeps its text; each restart is recorded behind the cut turn. */
function checkTurns(events: readonly SessionEvent[], restarts: number): void {
  const texts = new Map<string, string>();
  let open: string | undefined;
  events.forEach((event, n) => {
    if (event.type === "turn.started") {
      assertEquals(open, undefined, "a turn begins after the one before has ended");
      open = event.data.turn_id;
      texts.set(open, "");
    } else if (event.type === "session.delta") {
      assertEquals(event.data.turn_id, open);
      texts.set(open!, texts.get(open!)! + event.data.text);
    } else if (event.type === "turn.completed") {
      const { turn_id, stop_reason, message } = event.data;
      assertEquals(turn_id, open);
      assertEquals(message, texts.get(turn_id), "the text so far is kept");
      // What was accepted before the kill has a turn after it; the test cancels that one.
      if (stop_reason !== "cancelled") {
        assertEquals([stop_reason, events[n + 1].type], ["interrupted", "daemon.reloaded"]);
      }
      open = undefined;
    }
  });
  assertEquals(open, undefined);
  assertEquals(events.filter((event) => event.type === "daemon.reloaded").length, restarts);
}

Deno.test({
  name: `${ROUNDS} times kill -9 during streaming turns: nothing seen is lost, doubled or changed`,
  ignore,
  async fn() {
    const random = new Random(seed());
    console.log(`SVC_TEST_SEED=${random.seed}`);
    const answer = { instant: 3_000, pace_ms: 2 };
    const server = startOpenAiServer(() => answer, { open: true, capture: false });
    await using place = new Place();
    place.useLocalModel(server.url, `[agent]\napproval = "auto"\n`);
    const streaming: { session_id: string; path: string; observers: Observer[] }[] = [];
    const idle: { session_id: string; path: string; text: string; reloads: boolean }[] = [];
    {
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const start = async (name: string, model = "local/m") => {
        const workdir = place.mkdir(name);
        const { session_id } = await client.rpc.call("session.start", { workdir, model });
        return { session_id, path: journalPath(workdir, session_id) };
      };
      for (const name of ["socket", "websocket", "sse", "tool"]) {
        const it = await start(name, name === "tool" ? "builtin/toolbelt" : "local/m");
        const observers = [SocketObserver, WebSocketObserver, SseObserver]
          .map((Kind) => new Kind(it.session_id));
        streaming.push({ ...it, observers });
      }
      for (const name of ["idle", "paused", "ended"]) {
        const { session_id, path } = await start(name);
        if (name === "paused") await client.rpc.call("session.pause", { session_id });
        if (name === "ended") await client.rpc.call("session.kill", { session_id });
        idle.push({
          session_id,
          path,
          text: Deno.readTextFileSync(path),
          reloads: name !== "ended",
        });
      }
      await daemon.kill();
    }

    let seen = 0;
    let torn = 0;
    for (let round = 1; round <= ROUNDS; round++) {
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      for (const it of idle) {
        await client.rpc.call("session.get", { session_id: it.session_id });
        const text = Deno.readTextFileSync(it.path);
        assert(text.startsWith(it.text), "an idle session's journal only grows");
        const added = text.slice(it.text.length).trimEnd().split("\n").filter((line) =>
          line !== ""
        );
        const types = added.map((line) => decodeRecord(line).type);
        assertEquals(types, it.reloads ? ["daemon.reloaded"] : []);
        it.text = text;
      }
      for (const { session_id, path, observers } of streaming) {
        await client.rpc.call("session.cancel", { session_id });
        const got = await client.rpc.call("session.get", { session_id });
        assertEquals([got.state, got.activity], ["running", "idle"]);
        const events = readJournal(path);
        assertEquals(events.map((event) => event.seq), range(1, got.last_seq));
        checkTurns(events, round);
        torn += events.filter((it) => it.type === "lane.note").length;
        for (const observer of observers) {
          const count = observer.seen.length;
          assertEquals(observer.seen, events.slice(0, count), "what was seen is in the journal");
          seen += count;
          await observer.connect(daemon);
          await observer.reach(got.last_seq);
          assertEquals(observer.seen, events);
          const since = observer.seen.slice(count).map((event) => event.type);
          assert(since.includes("daemon.reloaded"), "who comes back learns of the restart");
        }
      }
      const sent = streaming.map(({ session_id }) =>
        client.rpc.call("session.send", { session_id, text: "run sleep 10" })
      );
      // The kill fails those that have no answer yet, while nobody waits for them.
      const settled = Promise.allSettled(sent);
      if (random.chance(0.85)) await Promise.all(sent);
      await delay(random.below(500));
      await daemon.kill();
      await settled;
      for (const { observers } of streaming) for (const it of observers) await it.gone();
    }
    console.log(`${seen} events seen before a kill were checked, ${torn} torn lines cut`);
    await server.close();
  },
});

/**
 * Each message is answered once: a model call that ended was built from it, or it began a turn that
 * was cut off; and no turn begins without a message that waits.
 *
 * @returns how many came during a turn, and those that are not answered yet.
 */
function checkAnswered(events: readonly SessionEvent[], accepted: ReadonlySet<string>) {
  const waiting = new Map<number, string>();
  const answered = new Set<string>();
  const take = (seq: number) => {
    for (const [at, message_id] of waiting) {
      if (at > seq) continue;
      waiting.delete(at);
      assert(!answered.has(message_id));
      answered.add(message_id);
    }
  };
  let started: number | undefined;
  let during = 0;
  for (const { type, seq, data } of events) {
    if (type === "user.message") {
      waiting.set(seq, data.message_id);
      if (started !== undefined && accepted.has(data.message_id)) during++;
    } else if (type === "turn.started") {
      assert(waiting.size > 0, `the turn at seq ${seq} answers nothing`);
      started = seq;
    } else if (type === "cost.tick") {
      take(data.seen_seq);
    } else if (type === "turn.completed") {
      assertEquals(data.stop_reason === "ok" || data.stop_reason === "interrupted", true);
      take(started!);
      started = undefined;
    }
  }
  const open = [...accepted].filter((it) => !answered.has(it));
  return { during, open };
}

Deno.test({
  name: `${ROUNDS} times kill -9: each accepted message is answered once, those during turns too`,
  ignore,
  async fn() {
    const random = new Random(seed());
    console.log(`SVC_TEST_SEED=${random.seed}`);
    const answer = { text: Array(20).fill("word "), pace_ms: 10 };
    const server = startOpenAiServer(() => answer, { open: true, capture: false });
    await using place = new Place();
    place.useLocalModel(server.url);
    const sessions = ["a", "b", "c"].map((name) => ({
      workdir: place.mkdir(name),
      session_id: "",
      accepted: new Set<string>(),
    }));
    for (let round = 0; round <= ROUNDS; round++) {
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      if (round === ROUNDS) {
        let during = 0;
        for (const { workdir, session_id, accepted } of sessions) {
          await client.rpc.call("session.get", { session_id });
          const check = () => {
            // Its last line may be half written.
            const text = Deno.readTextFileSync(journalPath(workdir, session_id));
            const lines = text.slice(0, text.lastIndexOf("\n")).split("\n");
            return checkAnswered(lines.map(decodeRecord), accepted);
          };
          await until(() => check().open.length === 0, "each message is answered");
          during += check().during;
        }
        const all = sessions.reduce((sum, { accepted }) => sum + accepted.size, 0);
        console.log(`${all} messages were accepted, ${during} of them during a turn`);
        assert(during > 0);
        break;
      }
      const sending: Promise<unknown>[] = [];
      for (const it of sessions) {
        if (round === 0) {
          const params = { workdir: it.workdir, model: "local/m" };
          const { session_id } = await client.rpc.call("session.start", params);
          it.session_id = session_id;
          await client.rpc.call("session.subscribe", { session_id });
          const first = await client.rpc.call("session.send", { session_id, text: "first" });
          it.accepted.add(first.message_id);
          // What follows comes during a turn, however slow the machine is.
          await client.wait((event) =>
            event.session_id === session_id && event.type === "turn.started"
          );
        }
        for (let n = 0; n <= random.below(3); n++) {
          const { session_id } = it;
          const sent = client.rpc.call("session.send", { session_id, text: `${round} ${n}` });
          sending.push(sent.then(({ message_id }) => it.accepted.add(message_id), () => {}));
          if (random.chance(0.5)) await delay(random.below(60));
        }
      }
      await delay(random.below(300));
      await daemon.kill();
      await Promise.all(sending);
    }
    await server.close();
  },
});

Deno.test({
  name: "killed at any moment of its start, a daemon leaves a valid index and comes back clean",
  ignore,
  async fn() {
    const random = new Random(seed());
    console.log(`SVC_TEST_SEED=${random.seed}`);
    await using place = new Place();
    const ids: string[] = [];
    {
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      for (let n = 0; n < 10; n++) {
        const workdir = place.mkdir(`work-${n}`);
        ids.push((await client.rpc.call("session.start", { workdir })).session_id);
      }
      await daemon.kill();
    }
    const [program, first] = svcCommand();
    const index = join(place.home, "sessions-index.json");
    for (let round = 0; round < ROUNDS; round++) {
      const child = new Deno.Command(program, {
        args: [...first, "serve"],
        env: place.env,
        clearEnv: true,
        cwd: "/",
        stdout: "null",
        stderr: "null",
      }).spawn();
      await delay((round + random.next()) / ROUNDS * 400);
      try {
        child.kill("SIGKILL");
      } catch {
        // It ended by itself; the status says how.
      }
      await child.status;
      assertEquals(Object.keys(JSON.parse(Deno.readTextFileSync(index))).sort(), ids.toSorted());
    }
    // As a kill in the middle of a write leaves them.
    for (const name of ["sessions-index.json", "daemon.json"]) {
      const temporary = `${name}.${crypto.randomUUID()}.tmp`;
      Deno.writeTextFileSync(join(place.home, temporary), "{", { mode: 0o600 });
    }
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { sessions } = await client.rpc.call("session.list");
    assertEquals(sessions.map((it: { id: string }) => it.id), ids.toSorted());
    assert(sessions.every((it: { state: string }) => it.state === "running"));
    const left = [...Deno.readDirSync(place.home)].map((it) => it.name);
    assertEquals(left.filter((name) => name.endsWith(".tmp")), []);
  },
});
