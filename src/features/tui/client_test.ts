import { assertEquals } from "@std/assert";
import type { SessionEvent } from "../../protocol/events.ts";
import { SvcError } from "../../protocol/errors.ts";
import { type Link, TuiClient } from "./client.ts";
import { parseKey } from "./keys.ts";
import { Tui } from "./tui.ts";

const ID = "sess_00000000000000000000000000";

/** A daemon's side: answers from what a test has set, and keeps what was asked. */
class FakeLink implements Link {
  onEvent: Link["onEvent"] = () => {};
  onSubscriptionEnded: Link["onSubscriptionEnded"] = () => {};
  lost = false;
  last_seq = 5;
  sent_seq = Infinity;
  events: SessionEvent[] = [];
  readonly failing = new Map<string, SvcError>();
  readonly calls: [string, Record<string, unknown>][] = [];

  // deno-lint-ignore no-explicit-any -- as the link it stands for
  async call(method: string, params: unknown): Promise<any> {
    await Promise.resolve();
    const { session_id: _, ...rest } = params as Record<string, unknown>;
    this.calls.push([method, rest]);
    const error = this.failing.get(method);
    this.failing.delete(method);
    if (error !== undefined) throw error;
    if (method === "session.send") return { message_id: "m", seq: this.sent_seq };
    if (method === "session.history") {
      return { events: this.events, last_seq: this.last_seq, more: false };
    }
    if (method !== "session.get") return {};
    return {
      title: "a title",
      workdir: "/work",
      model: "local/model",
      approval: "ask",
      state: "running",
      activity: "idle",
      cost_usd: 0,
      last_seq: this.last_seq,
      lanes: [],
      pending_approvals: [],
    };
  }

  /** What was asked since the last time. */
  asked(): string[] {
    return this.calls.splice(0).map(([method, { since_seq, text }]) =>
      [method, since_seq ?? text].filter((it) => it !== undefined).join(" ")
    );
  }
}

async function opened() {
  const tui = new Tui(ID, { cols: 80, rows: 24 }, () => crypto.randomUUID());
  const client = new TuiClient(tui, { onChange: () => {}, onOwn: () => {} });
  const link = new FakeLink();
  await client.open(link);
  return { tui, client, link };
}

async function send({ tui, client }: { tui: Tui; client: TuiClient }, text: string) {
  tui.press({ type: "paste", text });
  await client.perform(tui.press(parseKey("enter")));
}

Deno.test("a line that changes a setting is carried out, and says what no event will say", async () => {
  const bench = await opened();
  bench.link.calls.length = 0;
  await send(bench, "/rename a new title");
  await send(bench, "/rename");
  await send(bench, "/modelling is fun");
  const calls = bench.link.calls.slice(0, 3);
  assertEquals(calls.map(([method, params]) => [method, params.title]), [
    ["session.configure", "a new title"],
    ["session.get", undefined],
    ["commands.expand", undefined],
  ]);
  const notes = bench.tui.model.entries.filter(({ kind }) => kind === "note");
  assertEquals(notes.at(-1)?.lines[0], "title: a title");
});

Deno.test("the first link loads the conversation, the next goes on after the last event", async () => {
  const { tui, client, link } = await opened();
  assertEquals(link.asked(), [
    "session.get",
    "session.history",
    "session.get",
    "session.subscribe 5",
  ]);
  const delta = { session_id: ID, seq: 6, at: "", type: "session.delta" };
  link.onEvent({ ...delta, data: { turn_id: "t", text: "hello" } });
  client.close();
  assertEquals(tui.model.link, "reconnecting");
  const next = new FakeLink();
  next.last_seq = 40;
  await client.open(next);
  assertEquals(next.asked(), ["session.get", "session.subscribe 6"]);
  assertEquals([tui.model.link, tui.model.entries.at(-1)!.lines], ["connected", ["hello"]]);
});

Deno.test("far behind, or behind what the journal kept, the conversation is loaded again", async () => {
  const { client, link } = await opened();
  client.close();
  link.asked();
  link.last_seq = 10_000;
  await client.open(link);
  assertEquals(link.asked().slice(1), [
    "session.history",
    "session.get",
    "session.subscribe 10000",
  ]);
  client.close();
  link.failing.set("session.subscribe", new SvcError("journal_trimmed", "gone"));
  await client.open(link);
  assertEquals(link.asked().slice(1), [
    "session.subscribe 10000",
    "session.history",
    "session.get",
    "session.subscribe 10000",
  ]);
});

Deno.test("a message that the broken link may have lost is sent again with the same id", async () => {
  const { tui, client, link } = await opened();
  link.asked();
  link.lost = true;
  link.failing.set("session.send", new SvcError("internal", "the connection was lost"));
  await send({ tui, client }, "first");
  client.close();
  await send({ tui, client }, "second");
  const ids = tui.model.outbox.map(({ client_message_id }) => client_message_id);
  const next = new FakeLink();
  await client.open(next);
  const sent = next.calls.filter(([method]) => method === "session.send");
  assertEquals(sent.map(([, params]) => params), [
    { text: "first", client_message_id: ids[0] },
    { text: "second", client_message_id: ids[1] },
  ]);
  assertEquals(tui.model.entries.filter(({ kind }) => kind === "user").length, 2);
});

Deno.test("a message that had arrived though the link broke is on the screen once", async () => {
  const { tui, client, link } = await opened();
  link.lost = true;
  link.failing.set("session.send", new SvcError("internal", "the connection was lost"));
  await send({ tui, client }, "it arrived");
  client.close();
  const next = new FakeLink();
  next.last_seq = 10_000;
  next.sent_seq = 6;
  const [{ client_message_id }] = tui.model.outbox;
  const data = { message_id: "m", text: "it arrived", client_message_id };
  next.events = [{ seq: 6, at: "", type: "user.message", data }];
  await client.open(next);
  assertEquals(tui.model.outbox, []);
  const entries = tui.model.entries.map(({ lines }) => lines);
  assertEquals(entries, [["older messages are in the journal"], ["it arrived"]]);
});

Deno.test("a message that the daemon refuses is to be edited again, and why is on the screen", async () => {
  const { tui, client, link } = await opened();
  const paused = new SvcError("conflict", "session is paused", { hint: "resume it first" });
  link.failing.set("session.send", paused);
  await send({ tui, client }, "too early");
  assertEquals([tui.model.input.text, tui.model.outbox], ["too early", []]);
  assertEquals(tui.model.entries.at(-1)!.lines, ["session is paused (resume it first)"]);
});

Deno.test("a subscription that fell behind is opened again where it was", async () => {
  const { link } = await opened();
  link.asked();
  link.onSubscriptionEnded(new SvcError("crash_recovery", "did not keep up"));
  link.onSubscriptionEnded(new SvcError("shutting_down", "stopping"));
  link.onSubscriptionEnded(undefined);
  await Promise.resolve();
  assertEquals(link.asked(), ["session.subscribe 5"]);
});

Deno.test("what is typed before the conversation is there is done, and told, after that", async () => {
  const tui = new Tui(ID, { cols: 80, rows: 24 }, () => crypto.randomUUID());
  const client = new TuiClient(tui, { onChange: () => {}, onOwn: () => {} });
  const link = new FakeLink();
  tui.press({ type: "paste", text: "/rename" });
  const done = client.perform(tui.press(parseKey("enter")));
  await client.open(link);
  await done;
  assertEquals(link.asked().slice(0, 2), ["session.get", "session.history"]);
  assertEquals(tui.model.entries.map(({ lines }) => lines[0]).at(-1), "title: a title");
});
