/** A graceful stop, and what a restart makes of it. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { decodeRecord } from "../../src/session/record.ts";
import { applyToState, emptyState } from "../../src/session/state.ts";
import { type Answer, saidIn, startOpenAiServer } from "../support/model_servers.ts";
import {
  type Observer,
  SocketObserver,
  SseObserver,
  WebSocketObserver,
} from "../support/observers.ts";
import { can_run_svc, type Daemon, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

// deno-lint-ignore no-explicit-any -- session.get's answer, compared as it is
type Shown = any;

interface Started {
  session_id: string;
  path: string;
}

async function start(client: TestClient, place: Place, name: string, params = {}) {
  const workdir = place.mkdir(name);
  const { session_id } = await client.rpc.call("session.start", { workdir, ...params });
  const path = join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
  await client.rpc.call("session.subscribe", { session_id, since_seq: 0 });
  return { session_id, path } as Started;
}

async function show(client: TestClient, { session_id }: Started): Promise<Shown> {
  return await client.rpc.call("session.get", { session_id });
}

function readJournal({ path }: Started): SessionEvent[] {
  return Deno.readTextFileSync(path).trimEnd().split("\n").map(decodeRecord);
}

function types(events: SessionEvent[]): string[] {
  return events.map((event) => event.type);
}

/** What session.get shows is what the journal says. */
function checkFold(shown: Shown, it: Started): void {
  const state = emptyState(it.session_id);
  for (const event of readJournal(it)) applyToState(state, event);
  for (const [name, value] of Object.entries(JSON.parse(JSON.stringify(state)))) {
    if (name in shown) assertEquals(shown[name], value, name);
  }
}

/** The process has ended well and left nothing that leads to it. */
async function checkGone(place: Place, daemon: Daemon): Promise<void> {
  const status = await daemon.ended();
  assertEquals([status.code, status.signal], [0, null], await daemon.log);
  for (const path of [join(place.home, "daemon.json"), daemon.sock]) {
    let there = true;
    await Deno.lstat(path).catch(() => there = false);
    assert(!there, `${path} is gone`);
  }
  const left = [...Deno.readDirSync(place.home)].map((it) => it.name);
  assertEquals(left.filter((name) => name.endsWith(".tmp")), []);
}

/**
 * A model server that streams; a message that starts with "call" gets a tool call at the end, and
 * another after each, so that its turn does not end by itself.
 */
function modelServer() {
  return startOpenAiServer(({ messages }): Answer => {
    const last = messages.at(-1)!;
    if (last.role === "user" && last.text.startsWith("endless")) {
      return { instant: 20_000, pace_ms: 5 };
    }
    const asked = messages.findLast((it) => it.role === "user")!;
    if (asked.text.startsWith("call")) {
      const text = Array(80).fill("word ");
      return { text, pace_ms: 10, calls: [{ name: "list_dir", args: {} }] };
    }
    return { text: "an answer", usage: { input: 7, output: 3, cached: 2 } };
  }, { open: true });
}

function configure(place: Place, url: string): void {
  place.useLocalModel(
    url,
    `[agent]\ncontinue = "never"\n[prices."local/m"]\ninput = 1.0\noutput = 2.0\n`,
  );
}

async function observe(daemon: Daemon, { session_id }: Started): Promise<Observer[]> {
  const observers = [SocketObserver, WebSocketObserver, SseObserver]
    .map((Kind) => new Kind(session_id));
  for (const observer of observers) await observer.connect(daemon);
  return observers;
}

Deno.test({
  name: "SIGTERM pauses and records, subscribers see it, and the next daemon goes on from there",
  ignore,
  async fn() {
    const server = modelServer();
    await using place = new Place();
    configure(place, server.url);
    const daemon = await place.serve();
    const idle: (Started & { before: Shown; added: string[] })[] = [];
    let streaming: Started, waiting: Started;
    let sent: unknown;
    const observers: Observer[] = [];
    {
      await using client = await daemon.rpc();
      const model = "local/m";
      const talked = await start(client, place, "talked", { model, title: "T", budget_usd: 5 });
      sent = await client.rpc.call("session.send", {
        session_id: talked.session_id,
        text: "hello",
        client_message_id: "c1",
      });
      await client.wait((it) => it.type === "turn.completed");
      const tools = await start(client, place, "tools", { approval: "auto" });
      await client.turn(tools.session_id, "run sleep 2.3; echo done\nread nope");
      const paused = await start(client, place, "paused");
      await client.turn(paused.session_id, "ls");
      await client.rpc.call("session.pause", { session_id: paused.session_id });
      const ended = await start(client, place, "ended");
      await client.rpc.call("session.kill", { session_id: ended.session_id });
      streaming = await start(client, place, "streaming", { model });
      waiting = await start(client, place, "waiting");
      for (const it of [talked, tools, paused, ended]) {
        const before = await show(client, it);
        const added = it === ended
          ? []
          : it === paused
          ? ["daemon.reloaded"]
          : ["session.paused", "daemon.reloaded", "session.resumed"];
        idle.push({ ...it, before, added });
      }
      for (const it of [talked, paused, streaming, waiting]) {
        observers.push(...await observe(daemon, it));
      }
      const { session_id } = streaming;
      await client.rpc.call("session.send", { session_id, text: "call a tool" });
      await client.rpc.call("session.send", {
        session_id: waiting.session_id,
        text: "run echo needs an approval",
      });
      await client.wait((it) => it.type === "approval.requested");
      await client.wait((it) => it.session_id === session_id && it.type === "session.delta");
      Deno.kill(daemon.pid, "SIGTERM");
      await client.rpc.closed;
    }
    await checkGone(place, daemon);
    const wrote = readJournal(streaming);
    assertEquals(types(wrote).slice(-2), ["turn.completed", "session.paused"]);
    const completed = wrote.at(-2)!;
    assert(completed.type === "turn.completed");
    assertEquals(completed.data.stop_reason, "interrupted");
    assert(completed.data.message.startsWith("word word "));
    assertEquals(types(readJournal(waiting)).slice(-2), ["turn.completed", "session.paused"]);
    for (const observer of observers) {
      await observer.gone();
      const it = [...idle, streaming, waiting].find((it) => it.session_id === observer.session_id)!;
      assertEquals(observer.seen, readJournal(it), `${observer.constructor.name} saw it all`);
      assertEquals(observer.seen.at(-1)!.type, "session.paused");
    }

    const next = await place.serve();
    await using client = await next.rpc();
    for (const { before, added, ...it } of idle) {
      const after = await show(client, it);
      assertEquals(types(readJournal(it).slice(before.last_seq)), added);
      assertEquals(after.last_seq, before.last_seq + added.length);
      // Nothing happened in it.
      assertEquals(after, { ...before, last_seq: after.last_seq });
      checkFold(after, it);
    }
    assertEquals(idle[0].before.tokens_in, 7);
    assert(idle[0].before.cost_usd > 0 && idle[1].before.lanes.length === 2);
    for (const it of [streaming, waiting]) {
      const after = await show(client, it);
      assertEquals([after.state, after.activity, after.pending_approvals], ["running", "idle", []]);
      assertEquals(types(readJournal(it)).slice(-2), ["daemon.reloaded", "session.resumed"]);
      checkFold(after, it);
    }
    for (const observer of observers) {
      await observer.connect(next);
      const it = [...idle, streaming, waiting].find((it) => it.session_id === observer.session_id)!;
      await observer.reach((await show(client, it)).last_seq);
      assertEquals(observer.seen, readJournal(it));
    }

    // The conversation goes on, with all that was said before.
    const { session_id } = idle[0];
    const again = { session_id, text: "hello", client_message_id: "c1" };
    assertEquals(await client.rpc.call("session.send", again), sent);
    await client.rpc.call("session.subscribe", { session_id, since_seq: 0 });
    const { data } = await client.turn(session_id, "and again");
    assertEquals([data.stop_reason, data.message], ["ok", "an answer"]);
    const said = server.requests.at(-1)!.body.messages.slice(1)
      .map((it: { content: string }) => saidIn(it.content));
    assertEquals(said, ["hello", "an answer", "and again"]);
    await next.stop();
    for (const observer of observers) await observer.gone();
    await server.close();
  },
});

Deno.test({
  name: "daemon.shutdown cuts turns off after its grace; operator and stop pauses are told apart",
  ignore,
  async fn() {
    const server = modelServer();
    await using place = new Place();
    configure(place, server.url);
    const daemon = await place.serve();
    const sessions: Started[] = [];
    const observers: Observer[] = [];
    {
      await using client = await daemon.rpc();
      const stream = await start(client, place, "stream", { model: "local/m" });
      const tool = await start(client, place, "tool", { approval: "auto" });
      sessions.push(stream, tool);
      for (const it of sessions) observers.push(...await observe(daemon, it));
      const { session_id } = stream;
      await client.rpc.call("session.send", { session_id, text: "endless" });
      await client.rpc.call("session.send", {
        session_id: tool.session_id,
        text: "run echo begun; sleep 60",
      });
      await client.wait((it) => it.type === "lane.delta" && it.session_id === tool.session_id);
      const started = performance.now();
      assertEquals(await client.rpc.call("daemon.shutdown", { grace_s: 1 }), { grace_s: 1 });
      await client.rpc.call("daemon.shutdown", { grace_s: 0 }).catch(() => {});
      await client.rpc.closed;
      const took = performance.now() - started;
      assert(took > 900, `it took ${took} ms`);
    }
    await checkGone(place, daemon);
    for (const observer of observers) await observer.gone();
    for (const it of sessions) {
      const events = readJournal(it);
      assertEquals(events.at(-1)!.data, { reason: "daemon_shutdown" });
      const completed = events.at(-2)!;
      assert(completed.type === "turn.completed", JSON.stringify(events.slice(-4)));
      assertEquals(completed.data.stop_reason, "interrupted");
      const text = events.flatMap((it) => it.type === "session.delta" ? [it.data.text] : []);
      assertEquals(completed.data.message, text.join(""));
      for (const observer of observers.filter((to) => to.session_id === it.session_id)) {
        assertEquals(observer.seen, events);
      }
    }
    const tool = readJournal(sessions[1]);
    const [result] = tool.flatMap((it) => it.type === "session.tool_completed" ? [it.data] : []);
    assertEquals([result.ok, result.output], [false, "begun\n[stopped]"]);

    const next = await place.serve();
    await using client = await next.rpc();
    for (const it of sessions) {
      const shown = await show(client, it);
      assertEquals([shown.state, shown.activity], ["running", "idle"]);
      checkFold(shown, it);
      const [main, ...others] = shown.lanes;
      assertEquals(main.status, "running");
      for (const lane of others) assertEquals(lane.status, "cancelled");
    }
    await server.close();
  },
});
