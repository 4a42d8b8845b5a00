import { assert, assertEquals } from "@std/assert";
import type { Message } from "../models/model.ts";
import { Random } from "../../tests/support/random.ts";
import { recordOf } from "../../tests/support/sessions.ts";
import type { Compacted, EventData, EventType, SessionEvent } from "../protocol/events.ts";
import type { Attachment } from "../protocol/attachments.ts";
import { decodeRecord } from "./record.ts";
import { itemSeq } from "./transcript_items.ts";
import { Transcript } from "./transcript.ts";

const at = "2026-01-02T03:04:05.678Z";
const usage = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };

/** Events of a conversation, numbered, folded as they come. */
class Conversation {
  events: SessionEvent[] = [];
  live = new Transcript();

  add<T extends EventType>(type: T, data: EventData[T]): number {
    const seq = this.events.length + 1;
    const event = { seq, at, type, data } as SessionEvent;
    this.events.push(event);
    this.live.apply(event);
    return seq;
  }

  user(text: string, attachments?: Attachment[]): number {
    return this.add("user.message", { message_id: `msg_${text}`, text, attachments });
  }

  text(text: string): void {
    this.add("session.delta", { turn_id: "turn", text });
    const content_block = { type: "text" as const, text };
    this.add("lane.delta", { lane_id: "main", delta_seq: 1, content_block });
  }

  tick(seen_seq: number, calls: string[] = []): void {
    const tokens = { tokens_in: 1, tokens_out: 1, tokens_cached: 0 };
    const made = calls.map((call_id) => ({ call_id, tool: "t", args: { call_id } }));
    const answered = { reason: "calls", calls: made };
    this.add("cost.tick", { usd_delta: 0, ...tokens, seen_seq, answered });
  }

  /** What a model call of another lane costs, at any time. */
  lobe(): void {
    const tokens = { tokens_in: 1, tokens_out: 1, tokens_cached: 0 };
    const seen_seq = this.events.length;
    this.add("cost.tick", { usd_delta: 0, ...tokens, seen_seq, lane_id: "lane_1" });
  }

  recalled(...ids: string[]): void {
    const entries = ids.map((entry_id) => ({ entry_id, category: "fact", scope: "Global" }));
    this.add("memory.recalled", { turn_id: "turn", entries, text: `about ${ids.join()}` });
  }

  told(text: string): void {
    this.add("context.told", { turn_id: "turn", facts: {}, text });
  }

  retry(): void {
    this.add("lane.note", { lane_id: "main", text: "again", reason_code: "model_retry" });
  }

  start(call_id: string): void {
    this.add("session.tool_started", { call_id, tool: "t", args: { call_id }, lane_id: "main" });
  }

  result(call_id: string, output = `out ${call_id}`, attachments?: Attachment[]): void {
    const rest = { ok: true, duration_ms: 1, truncated: false, attachments };
    this.add("session.tool_completed", { call_id, tool: "t", output, ...rest });
  }

  end(stop_reason: "ok" | "interrupted" | "error"): void {
    this.add("turn.completed", { turn_id: "turn", stop_reason, message: "", usage });
  }

  /** The transcript that a restart would build. */
  rebuilt(): Transcript {
    const transcript = new Transcript();
    for (const event of this.events) transcript.apply(decodeRecord(recordOf(event).trimEnd()));
    return transcript;
  }
}

function picture(name: string): Attachment {
  return { hash: name.padEnd(64, "0"), media_type: "image/png", name, bytes: 1_000 };
}

/** What every provider demands of a conversation. */
function checkWellFormed(messages: Message[], note: string): void {
  messages.forEach((message, n) => {
    const next = messages[n + 1];
    if (message.role === "assistant") {
      assert(message.text !== "" || message.calls.length > 0, `${note}: an empty answer`);
      if (message.calls.length === 0) return assert(next?.role !== "tool", note);
      assert(next?.role === "tool", `${note}: calls without results`);
      assertEquals(
        next.results.map((result) => result.call_id).sort(),
        message.calls.map((call) => call.call_id).sort(),
        `${note}: each call has one result`,
      );
    } else if (message.role === "tool") {
      assertEquals(messages[n - 1]?.role, "assistant", note);
    }
  });
}

/** A conversation with steering, retries, parallel calls and turns that break off anywhere. */
function randomConversation(seed: number) {
  const random = new Random(seed);
  const it = new Conversation();
  const said: string[] = [];
  const answers: string[] = [];
  const told: string[] = [];
  let count = 0;
  const say = () => {
    const text = `user ${++count}`;
    said.push(text);
    return it.user(text);
  };
  const check = (note: string) => {
    const messages = it.live.messages();
    assertEquals(it.live.prompt(), it.rebuilt().prompt(), `seed ${seed}, ${note}`);
    const context = it.live.prompt().flatMap((it) => it.role === "context" ? [it.text] : []);
    assertEquals(context, told, `seed ${seed}, ${note}: all that was told, once and in order`);
    checkWellFormed(messages, `seed ${seed}, ${note}`);
  };
  for (let turns = 1 + random.below(6); turns > 0; turns--) {
    for (let n = random.below(3); n >= 0; n--) say();
    if (random.chance(0.3)) it.recalled(`mem_${++count}`);
    const tell = () => {
      told.push(`told ${++count}`);
      it.told(`told ${count}`);
    };
    if (random.chance(0.3)) tell();
    turn: for (let steps = 1 + random.below(5); steps > 0; steps--) {
      check("before a model call");
      const seen_seq = it.events.length;
      for (let tries = random.below(3); tries > 0; tries--) {
        if (random.chance(0.7)) it.text(`void ${++count} `);
        if (random.chance(0.3)) say();
        it.retry();
      }
      const parts = random.below(4);
      let text = "";
      for (let n = 0; n < parts; n++) {
        text += `part ${++count} `;
        it.text(`part ${count} `);
        if (random.chance(0.2)) say();
        if (random.chance(0.2)) it.lobe();
        if (random.chance(0.08)) {
          answers.push(text);
          break turn;
        }
      }
      it.tick(seen_seq);
      if (text !== "") answers.push(text);
      const calls = Array.from({ length: random.below(4) }, () => `call_${++count}`);
      const running: string[] = [];
      for (const call of calls) {
        it.start(call);
        running.push(call);
        if (random.chance(0.5)) it.result(running.splice(random.below(running.length), 1)[0]);
        if (random.chance(0.1)) say();
        if (random.chance(0.08)) break turn;
      }
      for (const call of running) it.result(call);
      if (random.chance(0.2)) tell();
    }
    it.end(random.pick(["ok", "interrupted", "error"]));
    check("after a turn");
  }
  return { messages: it.live.messages(), said, answers };
}

Deno.test("live equals rebuilt, whatever happens in the turns (500 seeds)", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const { messages, said, answers } = randomConversation(seed);
    const users = messages.flatMap((it) => it.role === "user" ? [it.text] : []);
    assertEquals(users, said, `seed ${seed}: every message once, in order`);
    const texts = messages.flatMap((it) =>
      it.role === "assistant" && it.text !== "" ? [it.text] : []
    );
    assertEquals(texts, answers, `seed ${seed}: the texts without what retries took back`);
  }
});

Deno.test("a message that comes during a model call follows its answer and results", () => {
  const it = new Conversation();
  const seen = it.user("first");
  it.text("answer");
  it.user("steering");
  it.tick(seen);
  it.start("call_1");
  it.user("more");
  it.result("call_1");
  assert(it.live.unanswered);
  const roles = it.live.messages().map((message) =>
    message.role === "user" ? message.text : message.role
  );
  assertEquals(roles, ["first", "assistant", "tool", "steering", "more"]);
  it.tick(it.events.length);
  assert(!it.live.unanswered);
});

Deno.test("what is told about an answer follows it, and goes with what a compaction leaves out", () => {
  const it = new Conversation();
  const seen = it.user("go");
  it.text("One tw");
  it.tick(seen);
  it.add("lane.note", { lane_id: "main", text: "cut off", reason_code: "model_told" });
  const before = it.live.prompt();
  assertEquals(before, it.rebuilt().prompt());
  assertEquals(before.map((message) => "text" in message ? message.text : message.role), [
    "go",
    "One tw",
    '<context about="answer">\ncut off\n</context>',
  ]);
  assert(!it.live.unanswered);
  it.tick(it.events.length);
  assertEquals(Transcript.from(it.live.toCheckpoint()).prompt(), it.rebuilt().prompt());
  it.add("session.compacted", {
    reason: "asked",
    tokens_before: 10,
    tokens_after: 1,
    seen_seq: it.events.length,
    until_seq: itemSeq(it.live.items.at(-1)!),
    summary: "all",
  });
  assertEquals(it.live.prompt().length, 1);
  assertEquals(it.live.prompt(), it.rebuilt().prompt());
});

Deno.test("the end of a background command is told once, unless the model stopped it itself", () => {
  const it = new Conversation();
  const ended = { command_id: "cmd_1", command: "make" };
  const seen = it.user("go");
  it.tick(seen);
  // During a step it follows the step's results, and before the next message.
  it.add("background.ended", { ...ended, reason: "exited", exit_code: 2 });
  it.add("background.ended", { ...ended, reason: "stopped", by: "model" });
  it.add("background.ended", { ...ended, reason: "daemon_stopped" });
  it.user("and now?");
  const told = it.live.prompt().map((message) => "text" in message ? message.text : "");
  assertEquals(it.live.prompt(), it.rebuilt().prompt());
  assertEquals(it.live.prompt(), Transcript.from(structuredClone(it.live.toCheckpoint())).prompt());
  assertEquals(told.length, 4);
  assertEquals(told[1].startsWith('<context about="background">\n'), true);
  assertEquals(told[1].includes("cmd_1 (make) has ended: exit code 2."), true);
  assertEquals(told[2].includes("stopped, because svc stopped. Its output is gone."), true);
  assertEquals(told[3], "and now?");
  assertEquals(it.live.messages().length, 2);
});

Deno.test("an open plan outlives a compaction and a checkpoint, one that is done does not", () => {
  for (const state of ["doing", "done"] as const) {
    const it = new Conversation();
    const seen = it.user("go");
    it.add("plan.changed", { steps: [{ step: "look", state: "done" }, { step: "mend", state }] });
    it.text("I look.");
    it.tick(seen);
    const kept = Transcript.from(structuredClone(it.live.toCheckpoint()));
    const event = it.add("session.compacted", {
      reason: "asked",
      tokens_before: 10,
      tokens_after: 1,
      seen_seq: it.events.length,
      until_seq: itemSeq(it.live.items.at(-1)!),
      summary: "all",
    });
    kept.apply(it.events[event - 1]);
    assertEquals(kept.prompt(), it.live.prompt());
    assertEquals(it.live.prompt(), it.rebuilt().prompt());
    const [summary] = it.live.prompt();
    const shows = JSON.stringify(summary).includes("[x] look\\n[>] mend");
    assertEquals(shows, state === "doing");
  }
});

Deno.test("a call without a result gets one that says so when its turn ends", () => {
  const it = new Conversation();
  const seen = it.user("go");
  it.tick(seen);
  it.start("call_1");
  it.start("call_2");
  it.result("call_2");
  it.end("interrupted");
  assertEquals(it.live.messages().at(-1), {
    role: "tool",
    results: [
      { call_id: "call_2", tool: "t", ok: true, output: "out call_2" },
      { call_id: "call_1", tool: "t", ok: false, output: "interrupted, no result" },
    ],
  });
});

/** A compaction that leaves out some of what is there, in any of its ways. */
function randomCompaction(random: Random, of: Transcript, seen_seq: number): Compacted {
  const { items } = of;
  const data: Compacted = {
    reason: "limit",
    tokens_before: 100,
    tokens_after: 50,
    seen_seq,
  };
  if (random.chance(0.3)) {
    data.attachments = { from_seq: random.below(5), to_seq: random.below(seen_seq + 2) };
  }
  if (random.chance(0.5)) data.outputs_seq = random.below(seen_seq + 2);
  if (random.chance(0.3)) data.text_max = random.below(200);
  if (random.chance(0.7) && items.length > 0) {
    const until = random.below(items.length);
    data.until_seq = itemSeq(items[until]);
    data.summary = random.chance(0.8) ? `summary ${seen_seq}` : "";
    data.files = random.chance(0.3) ? ["a.ts"] : [];
    data.kept_seqs = items.slice(0, until).flatMap((item) =>
      "user" in item && random.chance(0.3) ? [item.seq] : []
    );
  }
  return data;
}

Deno.test("a compaction is the same live, rebuilt and beyond a checkpoint, and stays well-formed (100 seeds)", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = new Random(seed);
    const it = new Conversation();
    let restored = new Transcript();
    const told: string[] = [];
    const check = (note: string) => {
      for (const event of it.events.slice(from)) restored.apply(event);
      from = it.events.length;
      const prompt = it.live.prompt();
      // As it is sent: what is undefined in it is not there.
      const sent = JSON.stringify(prompt);
      assertEquals(JSON.stringify(it.rebuilt().prompt()), sent, `seed ${seed}, ${note}`);
      assertEquals(JSON.stringify(restored.prompt()), sent, `seed ${seed}, ${note}, kept`);
      assertEquals(restored.measured, it.live.measured, `seed ${seed}, ${note}`);
      checkWellFormed(it.live.messages(), `seed ${seed}, ${note}`);
      const context = prompt.flatMap((it) => it.role === "context" && !it.summary ? [it.text] : []);
      assertEquals(context, told, `seed ${seed}, ${note}: what svc told is kept`);
      if (random.chance(0.3)) {
        restored = Transcript.from(JSON.parse(JSON.stringify(restored.toCheckpoint())));
      }
    };
    let from = 0;
    for (let turns = 1 + random.below(8), count = 0; turns > 0; turns--) {
      it.user(`user ${++count} ${"long ".repeat(random.below(100))}`);
      if (random.chance(0.2)) {
        told.push(`told ${++count}`);
        it.told(told.at(-1)!);
      }
      for (let steps = 1 + random.below(4); steps > 0; steps--) {
        if (random.chance(0.3)) {
          it.add("session.compacted", randomCompaction(random, it.live, it.events.length));
        }
        if (random.chance(0.2)) it.user(`steering ${++count}`, [picture("a"), picture("b")]);
        check("before a model call");
        const seen_seq = it.events.length;
        if (random.chance(0.7)) it.text(`answer ${++count}`);
        if (random.chance(0.3)) it.user(`steering ${++count}`);
        it.tick(seen_seq);
        for (let calls = random.below(3); calls > 0; calls--) {
          it.start(`call_${++count}`);
          const shown = random.chance(0.3) ? [picture("c")] : undefined;
          it.result(`call_${count}`, "out ".repeat(random.below(200)), shown);
        }
      }
      it.end("ok");
      if (random.chance(0.2)) {
        it.add("session.compacted", randomCompaction(random, it.live, it.events.length));
      }
      check("after a turn");
    }
  }
});

Deno.test("outputs that are left out say how to read them again; the summary stands for the rest", () => {
  const it = new Conversation();
  it.told("the session");
  it.user("first");
  it.tick(it.events.length);
  it.start("call_1");
  it.result("call_1", "x".repeat(1_000));
  const output_seq = it.events.length;
  it.tick(it.events.length);
  it.start("call_2");
  it.result("call_2", "y".repeat(1_000));
  it.text("done");
  it.tick(it.events.length);
  const last_seq = it.events.length - 2;
  it.end("ok");
  const compacted = (data: Partial<Compacted>) =>
    it.add("session.compacted", {
      reason: "limit",
      tokens_before: 9,
      tokens_after: 5,
      seen_seq: it.events.length,
      ...data,
    });
  const texts = () =>
    it.live.prompt().map((it) => it.role === "tool" ? it.results[0].output : it.text);

  compacted({ outputs_seq: output_seq });
  const note = `[output of 1000 characters left out to save room; ` +
    `read_earlier with seq ${output_seq} reads it again]`;
  assertEquals(texts(), ["the session", "first", "", note, "", "y".repeat(1_000), "done"]);
  assertEquals(it.live.measured, { tokens: 5, items: it.live.items.length });

  const first_seq = 2;
  compacted({ until_seq: last_seq, summary: "SUMMED", kept_seqs: [first_seq], files: ["a", "b"] });
  const summary = "[The conversation before this was left out to save room. Its summary:]\n\n" +
    "SUMMED\n\nFiles changed so far: a, b";
  assertEquals(texts(), ["the session", "first", summary]);
  assertEquals(it.live.messages()[1], { role: "user", text: summary, notice: true });

  it.user("long ".repeat(100));
  const long_seq = it.events.length;
  compacted({ text_max: 10 });
  const cut = "long long \n[the rest is left out to save room; " +
    `read_earlier with seq ${long_seq} reads all of it]`;
  assertEquals(texts(), ["the session", "first", summary, cut]);
  compacted({ text_max: 10 });
  assertEquals(texts().at(-1), cut, "what was cut already stays");
});

Deno.test("attachments that are left out say what was there, and how to see it again", () => {
  const it = new Conversation();
  const first = it.user("look", [picture("one"), picture("two")]);
  it.tick(first);
  it.start("call_1");
  it.result("call_1", "[image: three]", [picture("three")]);
  const result = it.events.length;
  const last = it.user("and this", [picture("four")]);
  const leaveOut = (attachments: Compacted["attachments"]) =>
    it.add("session.compacted", {
      reason: "attachments",
      tokens_before: 9,
      tokens_after: 5,
      seen_seq: it.events.length,
      attachments,
    });
  leaveOut({ from_seq: 0, to_seq: result });
  const left = (seq: number) =>
    `left out to save room; read_earlier with seq ${seq} shows it again]`;
  const texts = () => {
    const [user, , tool, next] = it.live.messages();
    assert(user.role === "user" && tool.role === "tool" && next.role === "user");
    assertEquals([user.attachments, tool.results[0].attachments], [undefined, undefined]);
    return [user.text, tool.results[0].output, next.text, next.attachments?.length];
  };
  const before = [
    `look\n[image: one, 1 kB; ${left(first)}\n[image: two, 1 kB; ${left(first)}`,
    `[image: three]\n[image: three, 1 kB; ${left(result)}`,
  ];
  assertEquals(texts(), [...before, "and this", 1]);
  leaveOut({ from_seq: 0, to_seq: last, refused: true });
  const refused = "and this\n[image: four, 1 kB; left out because the provider refused it]";
  assertEquals(texts(), [...before, refused, undefined]);
  assertEquals(it.rebuilt().prompt(), it.live.prompt());
});

Deno.test("an event that names what is not there leaves nothing out", () => {
  const it = new Conversation();
  it.user("first");
  it.tick(it.events.length);
  const before = it.live.prompt();
  const tokens = { tokens_before: 2, tokens_after: 1, seen_seq: 1 };
  it.add("session.compacted", { reason: "asked", ...tokens, until_seq: 77, summary: "nothing" });
  assertEquals(it.live.prompt(), before);
});

Deno.test("what was recalled belongs to the message that it is about, beyond a checkpoint too", () => {
  const it = new Conversation();
  it.user("one");
  it.user("two");
  it.recalled("mem_1", "mem_2");
  it.user("three");
  assertEquals(it.live.waiting, ["one", "two", "three"]);
  const seen = it.events.length;
  it.text("answer");
  it.tick(seen);
  it.end("ok");
  const messages = [
    { role: "user", text: "one" },
    { role: "user", text: "two", memory: "about mem_1,mem_2" },
    { role: "user", text: "three" },
    { role: "assistant", text: "answer", calls: [] },
  ];
  assertEquals(it.live.messages(), messages as Message[]);
  assertEquals([...it.live.recalled], ["mem_1", "mem_2"]);
  const restored = new Transcript();
  const transcript = JSON.parse(JSON.stringify(it.live.toCheckpoint()));
  const data = { state: {}, transcript, chain: "" };
  restored.apply({ seq: 9, at, type: "session.checkpoint", data });
  assertEquals(restored.messages(), messages as Message[]);
  assertEquals([...restored.recalled], ["mem_1", "mem_2"]);
});

Deno.test("what svc tells stands before the message that waits, and after results; it only appends", () => {
  const it = new Conversation();
  it.user("go");
  it.told("the session");
  const prompts = [it.live.prompt()];
  it.tick(it.events.length);
  it.start("call_1");
  it.user("steering");
  it.result("call_1");
  it.add("rules.loaded", {
    turn_id: "turn",
    files: [],
    skipped: [{ path: "/p/AGENTS.md", reason: "is a pipe" }],
    removed: [],
    text: "",
  });
  it.add("rules.loaded", { turn_id: "turn", files: [], skipped: [], removed: [], text: "rules" });
  prompts.push(it.live.prompt());
  it.text("done");
  it.tick(it.events.length);
  it.end("ok");
  prompts.push(it.live.prompt());
  const said = prompts.at(-1)!.map((it) => it.role === "tool" ? "tool" : it.text);
  assertEquals(said, ["the session", "go", "", "tool", "rules", "steering", "done"]);
  for (const [n, prompt] of prompts.slice(1).entries()) {
    assertEquals(prompt.slice(0, prompts[n].length), prompts[n]);
  }
  assertEquals(it.live.messages().map(({ role }) => role), [
    "user",
    "assistant",
    "tool",
    "user",
    "assistant",
  ]);
});

Deno.test("what svc told outlives the older half of a conversation, and a checkpoint", () => {
  const it = new Conversation();
  it.user("go");
  it.told("the session");
  for (let n = 1; n <= 20; n++) {
    it.tick(it.events.length);
    it.end("ok");
    it.user(`${n} ${"x".repeat(2_000_000)}`);
    if (n === 5) it.told("rules");
  }
  const context = (of: Transcript) =>
    of.prompt().flatMap((it) => it.role === "context" && !it.summary ? [it.text] : []);
  assert(it.live.messages().length < 15);
  assertEquals(context(it.live), ["the session", "rules"]);
  const kept = Transcript.from(JSON.parse(JSON.stringify(it.live.toCheckpoint())));
  assertEquals(kept.prompt(), it.live.prompt());
});

Deno.test("what svc has told again is left out part by part, as often as it is told", () => {
  const it = new Conversation();
  const tell = (rules: Record<string, string>, removed: string[] = []) => {
    const said = Object.entries(rules).map(([about, text]) => `${about}: ${text}`);
    let text = "<context>";
    const parts = Object.keys(rules).map((about, n) => {
      const from = (text += "\n").length;
      text += said[n];
      return { about, from, to: text.length + Number(n < said.length - 1) };
    });
    if (removed.length > 0) text += `\nno longer: ${removed}`;
    text += "\n</context>";
    const files = Object.keys(rules).map((path) => ({ path, bytes: 1, sha256: "" }));
    it.add("rules.loaded", { turn_id: "turn", files, skipped: [], removed, text, parts });
  };
  const compact = () => {
    const tokens = { tokens_before: 2, tokens_after: 1, seen_seq: it.events.length };
    it.add("session.compacted", { reason: "asked", ...tokens, told_again: true });
    assertEquals(it.live.prompt(), it.rebuilt().prompt());
    const kept = Transcript.from(JSON.parse(JSON.stringify(it.live.toCheckpoint())));
    assertEquals(kept.prompt(), it.live.prompt());
    return it.live.prompt().map((it) => "text" in it ? it.text : "");
  };
  tell({ a: "1", b: "1", c: "1" });
  it.told("of no part");
  it.user("go");
  tell({ b: "2" });
  it.tick(it.events.length);
  tell({ b: "3" });
  assertEquals(compact(), [
    "<context>\na: 1\nc: 1\n</context>",
    "of no part",
    "go",
    "<context>\nb: 3\n</context>",
  ]);
  tell({ c: "2" }, ["b"]);
  assertEquals(compact(), [
    "<context>\na: 1\n</context>",
    "of no part",
    "go",
    "<context>\nc: 2\nno longer: b\n</context>",
  ]);
});

Deno.test("a conversation past 16 Mi characters loses its older half, and says so", () => {
  const it = new Conversation();
  const written = { content: "z".repeat(200_000) };
  const count = () => it.live.messages().filter(({ role }) => role === "assistant").length;
  let losses = 0;
  for (let n = 1; n <= 60; n++) {
    const before = count();
    it.user(`${n} ${"x".repeat(300_000)}`);
    it.text("y".repeat(100_000));
    it.tick(it.events.length);
    const call_id = `call_${n}`;
    it.add("session.tool_started", { call_id, tool: "t", args: written, lane_id: "main" });
    it.result(call_id);
    it.end("ok");
    // 600,000 characters a turn: 28 turns have a part, half of them after each loss.
    assert(count() <= 28, `${count()} of ${n} turns`);
    if (count() < before) losses++;
  }
  assert(losses === 3 || losses === 4, `${losses} losses`);
  const [first, ...others] = it.live.messages();
  const text = "[the conversation before this is no longer kept]";
  assertEquals(first, { role: "user", text, notice: true });
  assert(JSON.stringify(others.at(-1)).includes("call_60"));
  const restored = new Transcript();
  const transcript = JSON.parse(JSON.stringify(it.live.toCheckpoint()));
  const checkpoint = { state: {}, transcript, chain: "" };
  restored.apply({ seq: 9, at, type: "session.checkpoint", data: checkpoint });
  assertEquals(restored.messages().length, it.live.messages().length);
  assertEquals(restored.messages()[0], first);
});

Deno.test("messages that no model answers are left out too, but for the newest", () => {
  const it = new Conversation();
  for (let n = 1; n <= 20; n++) it.user(`${n} ${"x".repeat(2_000_000)}`);
  assert(it.live.waiting.length < 9);
  it.user("y".repeat(40_000_000));
  assertEquals(it.live.waiting.map((text) => text[0]), ["y"]);
  assert(it.live.unanswered);
});

Deno.test("a turn that goes on is as if it had not been cut off, wherever that was", () => {
  const say = (it: Conversation, text: string) => () => it.text(text);
  /** The turn, in parts that are written whole; a step that has no tick begins again. */
  const turn = (it: Conversation): (() => unknown)[][] => [
    [
      say(it, "One "),
      say(it, "two "),
      () => it.tick(it.events.length, ["call_1", "call_2"]),
    ],
    [() => it.start("call_1")],
    [() => it.result("call_1")],
    [() => it.user("more")],
    [() => it.start("call_2")],
    [() => it.result("call_2")],
    [say(it, "\n\nThree."), () => it.tick(it.events.length)],
  ];
  const begin = () => {
    const it = new Conversation();
    it.user("go");
    it.add("turn.started", { turn_id: "turn", model: "m/m" });
    return it;
  };
  const whole = begin();
  for (const part of turn(whole)) for (const write of part) write();
  for (let cut = 0; cut < turn(whole).length; cut++) {
    for (let within = 0; within < turn(whole)[cut].length; within++) {
      for (const ended of [false, true]) {
        const it = begin();
        const parts = turn(it);
        for (const part of parts.slice(0, cut)) for (const write of part) write();
        for (const write of parts[cut].slice(0, within)) write();
        if (ended) it.end("interrupted");
        const kept = JSON.parse(JSON.stringify(it.live.toCheckpoint()));
        checkWellFormed(ended ? it.live.messages() : [], `cut at ${cut}.${within}`);
        const next = it.events.length;
        it.add("turn.continued", { turn_id: "turn", after: ended ? "asked" : "crash" });
        for (const part of parts.slice(cut)) for (const write of part) write();
        const note = `cut at ${cut}.${within}, ${ended ? "ended" : "open"}`;
        const sent = (of: Transcript) => JSON.stringify(of.prompt(), undefined, 1);
        assertEquals(sent(it.live), sent(whole.live), note);
        assertEquals(sent(it.rebuilt()), sent(whole.live), `${note}, rebuilt`);
        const restored = Transcript.from(kept);
        for (const event of it.events.slice(next)) restored.apply(event);
        assertEquals(sent(restored), sent(whole.live), `${note}, from a checkpoint`);
      }
    }
  }
});

Deno.test("calls of an interrupted answer that had not begun are not the model's any more", () => {
  const it = new Conversation();
  const seen = it.user("go");
  it.tick(seen, ["call_1", "call_2"]);
  it.start("call_1");
  it.end("interrupted");
  it.user("something else");
  it.add("turn.started", { turn_id: "turn_2", model: "m/m" });
  const [, answer, results] = it.live.messages();
  assert(answer.role === "assistant" && results.role === "tool");
  assertEquals(answer.calls.map(({ call_id }) => call_id), ["call_1"]);
  assertEquals(results.results.map(({ output }) => output), ["interrupted, no result"]);
  assertEquals(it.live.prompt(), it.rebuilt().prompt());
});
