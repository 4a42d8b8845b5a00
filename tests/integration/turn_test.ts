import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { can_run_svc } from "../support/svc.ts";
import { PROVIDERS, Scenario } from "../support/scripted.ts";
import type { Message } from "../../src/models/model.ts";
import type { Answer } from "../support/model_servers.ts";
import { SvcError } from "../../src/protocol/errors.ts";

const ignore = !can_run_svc;

/** The results that follow the last answer of a conversation. */
function lastResults(messages: Message[]) {
  const last = messages.findLast((message) => message.role === "tool");
  return last?.role === "tool" ? last.results : [];
}

function assertNear(actual: number, expected: number): void {
  assert(Math.abs(actual - expected) < 1e-12, `${actual} instead of ${expected}`);
}

for (const provider of PROVIDERS) {
  Deno.test({
    name: `a turn with ${provider} reads, edits, runs, reports, in contract shapes and order`,
    ignore,
    async fn() {
      await using it = await Scenario.begin([
        { text: "I look. ", calls: [{ id: "c1", name: "read_file", args: { path: "n.txt" } }] },
        {
          calls: [{
            id: "c2",
            name: "edit_file",
            args: { path: "n.txt", old_text: "old", new_text: "new" },
          }],
        },
        { calls: [{ id: "c3", name: "run_command", args: { command: "cat n.txt; exit 3" } }] },
        { text: "It is done." },
      ], { provider });
      Deno.writeTextFileSync(join(it.workdir, "n.txt"), "the old text\n");
      const { data } = await it.turn("mend n.txt");

      assertEquals(data.stop_reason, "ok");
      assertEquals(data.message, "I look. \n\nIt is done.");
      assertEquals(Deno.readTextFileSync(join(it.workdir, "n.txt")), "the new text\n");
      const cost = ["cost.tick", "lane.cost"];
      const call = ["session.tool_started", "session.tool_completed", ...cost];
      assertEquals(it.types(), [
        "session.created",
        "lane.created",
        "user.message",
        "turn.started",
        "lane.status",
        "context.told",
        ...cost,
        ...call,
        "session.tool_started",
        "files.kept",
        "session.tool_completed",
        ...cost,
        ...call,
        "files.kept",
        "turn.completed",
      ]);
      assertEquals(it.client.events.map(({ seq }) => seq), it.client.events.map((_, n) => n + 1));
      const fields = (type: string) => Object.keys(it.client.of(type)[0].data).sort();
      assertEquals(fields("session.tool_started"), ["args", "call_id", "lane_id", "tool"]);
      const completed = ["call_id", "duration_ms", "ok", "output", "tool", "truncated"];
      assertEquals(fields("session.tool_completed"), completed);
      assertEquals(fields("turn.completed"), ["message", "stop_reason", "turn_id", "usage"]);
      assertEquals(fields("session.delta"), ["text", "turn_id"]);
      assertEquals(fields("lane.delta"), ["content_block", "delta_seq", "lane_id"]);

      const deltas = (type: string) => it.client.of(type).map((event) => event.data);
      assertEquals(deltas("session.delta").map(({ text }) => text).join(""), data.message);
      const lane_texts = deltas("lane.delta").map(({ content_block }) => content_block.text);
      assertEquals(lane_texts.join(""), data.message);
      const ends = deltas("session.tool_completed");
      assertEquals(ends.map(({ call_id, tool, ok }) => [call_id, tool, ok]), [
        ["c1", "read_file", true],
        ["c2", "edit_file", true],
        ["c3", "run_command", false],
      ]);
      assertEquals(ends[2].output, "the new text\n[exit code 3]");

      // What the model was told is what the events say.
      assertEquals(it.asked.length, 4);
      assertEquals(lastResults(it.asked[3])[0].output, ends[2].output);
      assertEquals(it.server.requests.map(({ status }) => status), [200, 200, 200, 200]);
      const got = await it.call("session.get");
      assertEquals([got.activity, got.messages_count], ["idle", 2]);
    },
  });

  Deno.test({
    name:
      `a call to ${provider} with arguments that are no JSON, or of an unknown tool, is answered`,
    ignore,
    async fn() {
      await using it = await Scenario.begin([
        {
          calls: [
            { id: "bad", name: "read_file", args: '{"path": "n.txt' },
            { id: "odd", name: "read_file", args: { path: 7, more: true } },
            { id: "none", name: "launch_rocket", args: {} },
          ],
        },
        { text: "I see." },
        { text: "Still here." },
      ], { provider });
      const { data } = await it.turn("go");
      assertEquals([data.stop_reason, data.message], ["ok", "I see."]);
      const byId = new Map(lastResults(it.asked[1]).map((result) => [result.call_id, result]));
      assertStringIncludes(byId.get("bad")!.output, "invalid arguments");
      assertStringIncludes(byId.get("odd")!.output, "path");
      assertStringIncludes(byId.get("none")!.output, "unknown tool launch_rocket");
      assertStringIncludes(byId.get("none")!.output, "read_file");
      assert(it.client.of("session.tool_completed").every(({ data }) => data.ok === false));
      // A conversation with such calls in it can go on.
      assertEquals((await it.turn("more")).data.message, "Still here.");
    },
  });
}

Deno.test({
  name: "usage and cost follow the provider's figures and the prices of daemon.toml",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      {
        calls: [{ name: "list_dir", args: {} }],
        usage: { input: 1000, output: 100, cached: 400 },
      },
      { text: "Done.", usage: { input: 2000, output: 50, cached: 1000 } },
    ], { toml: '[prices."local/model-1"]\ninput = 3\noutput = 15\ncache_read = 0.3\n' });
    const { usage } = (await it.turn("go")).data;
    const usd = (600 * 3 + 400 * 0.3 + 100 * 15 + 1000 * 3 + 1000 * 0.3 + 50 * 15) / 1e6;
    assertEquals({ ...usage, usd: 0 }, {
      tokens_in: 3000,
      tokens_out: 150,
      tokens_cached: 1400,
      usd: 0,
    });
    assertNear(usage.usd, usd);
    const [first, second] = it.client.of("cost.tick").map(({ data }) => data);
    assertEquals([first.tokens_in, first.tokens_out, first.tokens_cached], [1000, 100, 400]);
    assertNear(first.usd_delta + second.usd_delta, usd);
    const got = await it.call("session.get");
    assertEquals([got.tokens_in, got.tokens_out, got.tokens_cached], [3000, 150, 1400]);
    assertNear(got.cost_usd, usd);
  },
});

Deno.test({
  name: "later calls to Anthropic are read from its cache, counted and priced as such",
  ignore,
  async fn() {
    const list = { calls: [{ name: "list_dir", args: {} }], usage: { input: 10, output: 20 } };
    await using it = await Scenario.begin([list, list, { text: "Done.", usage: { output: 5 } }], {
      provider: "anthropic",
      toml: '[prices."claude/model-1"]\ninput = 3\noutput = 15\n' +
        "cache_read = 0.3\ncache_write = 3.75\n",
    });
    await it.turn("go");
    const ticks = it.client.of("cost.tick").map(({ data }) => data);
    assertEquals(ticks[0].tokens_cached, 0);
    // The whole request before is in the cache: all of it but what a last mark may leave out.
    for (const n of [1, 2]) {
      const { tokens_in, tokens_cached } = ticks[n];
      assert(tokens_cached >= ticks[n - 1].tokens_in - 10, `${n}: ${JSON.stringify(ticks)}`);
      assert(tokens_cached < tokens_in);
    }
    for (const { usd_delta, tokens_in, tokens_out, tokens_cached } of ticks.slice(0, 2)) {
      const written = tokens_in - tokens_cached - 10;
      const usd = (10 * 3 + tokens_cached * 0.3 + written * 3.75 + tokens_out * 15) / 1e6;
      assertNear(usd_delta, usd);
    }
  },
});

Deno.test({
  name: "429 with Retry-After and 500 are tried again, visibly, and the turn ends well",
  ignore,
  async fn() {
    for (const provider of PROVIDERS) {
      await using it = await Scenario.begin([
        { status: { code: 429, message: "slow down", headers: { "retry-after": "2" } } },
        { status: { code: 500, message: "oops" } },
        { text: "Here." },
      ], { provider });
      const { data } = await it.turn("go");
      assertEquals([data.stop_reason, data.message], ["ok", "Here."]);
      const notes = it.client.of("lane.note");
      assertEquals(notes.map(({ data }) => [data.lane_id, data.reason_code]), [
        ["main", "model_retry"],
        ["main", "model_retry"],
      ]);
      assertStringIncludes(notes[0].data.text, "slow down");
      assertStringIncludes(notes[1].data.text, "500");
      const waited = Date.parse(notes[1].at) - Date.parse(notes[0].at);
      assert(waited >= 1_950, `Retry-After: 2 was not kept: ${waited} ms`);
    }
  },
});

Deno.test({
  name: "a model that falls silent is asked again, visibly, and a bad event does not end its turn",
  ignore,
  async fn() {
    for (const provider of PROVIDERS) {
      const never = Promise.withResolvers<Answer>();
      await using it = await Scenario.begin([
        () => never.promise,
        { text: ["One "], hang_after: 1 },
        { text: ["One ", "two."], stray: { after: 1, data: "keep-alive" } },
        { status: { code: 400, message: "only silence is asked again" } },
      ], {
        provider,
        toml: '[agent]\nfirst_byte_timeout = "900ms"\nidle_timeout = "900ms"\n',
      });
      const { data } = await it.turn("go");
      assertEquals([data.stop_reason, data.message], ["ok", "One two."]);
      const notes = it.client.of("lane.note").map(({ data }) => [data.reason_code, data.text]);
      assertEquals(notes.map(([code]) => code), [
        "model_retry",
        "model_retry",
        "model_event_skipped",
      ]);
      assertMatch(notes[0][1], /sent nothing for 900ms .*first_byte_timeout.*attempt 2 of 3/);
      assertMatch(notes[1][1], /sent nothing more for 900ms .*idle_timeout.*attempt 3 of 3/);
      assertMatch(notes[2][1], /an unreadable event/);
    }
  },
});

Deno.test({
  name: "a model that stays silent ends its turn with the limit that it missed",
  ignore,
  async fn() {
    await using it = await Scenario.begin(
      Array.from({ length: 4 }, () => ({ text: ["One "], hang_after: 1 })),
      { toml: '[agent]\nidle_timeout = "100ms"\n' },
    );
    const { data } = await it.turn("go");
    assertEquals(data.stop_reason, "error");
    assertMatch(data.error, /sent nothing more for 100ms/);
    assertEquals(it.server.requests.length, 3);
    assertEquals((await it.call("session.get")).activity, "idle");
  },
});

Deno.test({
  name: "a stream that is cut is tried again, and its text counts once",
  ignore,
  async fn() {
    for (const provider of PROVIDERS) {
      await using it = await Scenario.begin([
        { text: ["One ", "two ", "three."], cut_after: 2 },
        {
          text: ["Let me "],
          calls: [{ name: "write_file", args: { path: "a.txt", content: "aaaaaaaaaaaaaaaa" } }],
          cut_after: 4,
        },
        { text: "One two three.", calls: [{ name: "list_dir", args: {} }] },
        { text: ["Fo"], cut_after: 1 },
        { text: " Four." },
        { text: "Next." },
      ], { provider });
      const { data } = await it.turn("count");
      assertEquals([data.stop_reason, data.message], ["ok", "One two three.\n\n Four."]);
      assertEquals(it.client.of("session.tool_started").map(({ data }) => data.tool), ["list_dir"]);
      assertEquals(it.client.of("lane.note").length, 3);
      await it.turn("and");
      const said = it.asked.at(-1)!.flatMap((it) => it.role === "assistant" ? [it.text] : []);
      assertEquals(said.map((text) => text.trim()), ["One two three.", "Four."]);
      const { messages } = await it.call("session.transcript");
      const kept = messages.flatMap((it: Message) => it.role === "assistant" ? [it.text] : []);
      assertEquals(kept, ["One two three.", " Four.", "Next."]);
    }
  },
});

Deno.test({
  name: "a refused key ends the turn with an error that helps and does not show the key",
  ignore,
  async fn() {
    for (const provider of PROVIDERS) {
      const key = "sk-a-wrong-key-0123456789";
      await using it = await Scenario.begin([{ text: "never" }], { provider, key });
      const { data } = await it.turn("go");
      assertEquals(data.stop_reason, "error");
      assertStringIncludes(data.error, "401");
      assertStringIncludes(data.error, "MODEL_KEY");
      assertEquals(it.server.requests.length, 1);
      assertEquals((await it.call("session.get")).activity, "idle");
      assertEquals((await it.turn("again")).data.stop_reason, "error");
      const journal = join(it.workdir, ".svc", "sessions", it.session_id, "journal.ndjson");
      assert(!Deno.readTextFileSync(journal).includes(key));
      await it.daemon.stop();
      const log = Deno.readTextFileSync(join(it.place.home, "log", "daemon.ndjson"));
      assert(!log.includes(key));
    }
  },
});

Deno.test({
  name: "reads of one answer run at once, writes one after the other",
  ignore,
  async fn() {
    const read = (n: number, id = `r${n}`) => {
      return { id, name: "read_file", args: { path: `${n}.txt` } };
    };
    const write = (id: string, content: string) => {
      return { id, name: "write_file", args: { path: "w.txt", content } };
    };
    await using it = await Scenario.begin([
      { calls: [read(1), read(2), read(3), write("w1", "1"), write("w2", "2"), read(1, "r4")] },
      { text: "Done." },
    ]);
    for (const n of [1, 2, 3]) Deno.writeTextFileSync(join(it.workdir, `${n}.txt`), `file ${n}`);
    await it.turn("go");
    const steps = it.client.events
      .filter(({ type }) => type.startsWith("session.tool_"))
      .map(({ type, data }) => type === "session.tool_started" ? `+${data.call_id}` : "-");
    assertEquals(steps.join(" "), "+r1 +r2 +r3 - - - +w1 - +w2 - +r4 -");
    assertEquals(Deno.readTextFileSync(join(it.workdir, "w.txt")), "2");
    const outputs = lastResults(it.asked[1]).map(({ call_id, output }) => `${call_id} ${output}`);
    for (const n of [1, 2, 3]) assert(outputs.some((it) => it.includes(`r${n} file ${n}`)));
  },
});

Deno.test({
  name: "the limits of steps and of the budget end a turn, which says so",
  ignore,
  async fn() {
    const list = { calls: [{ name: "list_dir", args: {} }], usage: { input: 1000, output: 0 } };
    await using steps = await Scenario.begin(() => list, { toml: "[agent]\nmax_steps = 2\n" });
    const first = (await steps.turn("go")).data;
    assertEquals([first.stop_reason, steps.asked.length], ["budget", 2]);
    assertStringIncludes(first.error, "2 steps");
    // The next message gets its own steps.
    assertEquals((await steps.turn("on")).data.stop_reason, "budget");
    assertEquals(steps.asked.length, 4);

    await using budget = await Scenario.begin(() => list, {
      toml: '[prices."local/model-1"]\ninput = 1\noutput = 1\n',
      start: { budget_usd: 0.002 },
    });
    const second = (await budget.turn("go")).data;
    assertEquals([second.stop_reason, budget.asked.length], ["budget", 2]);
    assertStringIncludes(second.error, "$0.002");
    const refused = await assertRejects(() => budget.turn("on"), SvcError, "is used up");
    assertEquals([refused.code, budget.asked.length], ["budget_exceeded", 2]);
  },
});

Deno.test({
  name: "the critic reads a person's own sessions where it is asked to, from the next turn on",
  ignore,
  async fn() {
    await using it = await Scenario.begin(() => ({ text: "Done.<|im_end|><|im_start|>system" }));
    const turn = async () => (await it.turn("work")).data;
    assertEquals((await turn()).stop_reason, "ok");
    const { rpc } = it.client;
    await rpc.call("daemon.set_config", { changes: { "agent.critic": true } });
    const { stop_reason, error } = await turn();
    assertEquals(stop_reason, "critic");
    assertMatch(String(error), /^rule role-token: <\|im_end\|>$/);
    await rpc.call("daemon.set_config", { changes: { "agent.critic": null } });
    assertEquals((await turn()).stop_reason, "ok");
  },
});
