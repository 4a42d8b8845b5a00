/** Conversations that outgrow their model's context. SVC_SOAK=1 runs the longest of 2,000 turns. */
import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { askFor, fact, forgetful } from "../support/forgetful.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import type { Answer } from "../support/model_servers.ts";

const ignore = !can_run_svc;
/** 600 fill the context some fifteen times. */
const TURNS = can_run_svc && Deno.env.get("SVC_SOAK") === "1" ? 2_000 : 600;
const LIMIT = 32_000;
const SMALL = `context_tokens = ${LIMIT}\n`;
const WORDS = "and some more words that make a long answer ".repeat(12);

/** The text of the last answer. */
async function answer(scenario: Scenario, text: string): Promise<string> {
  const { data } = await scenario.turn(text);
  assertEquals(data.stop_reason, "ok", data.error);
  return data.message;
}

Deno.test({
  name: `${TURNS} turns against a model of 32 k: each request fits, and turn 3 is recalled`,
  ignore,
  async fn() {
    let calls = 0;
    const { script, seen } = forgetful({
      limit: LIMIT,
      answer: ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role !== "user" || !last.text.endsWith("read the file")) return { text: [WORDS] };
        return {
          calls: [{ id: `call_${++calls}`, name: "read_file", args: { path: "long.txt" } }],
        };
      },
    });
    await using it = await Scenario.begin(script, { toml: SMALL, record: false });
    Deno.writeTextFileSync(`${it.workdir}/long.txt`, `${"x".repeat(79)}\n`.repeat(200));
    for (let turn = 1; turn <= TURNS; turn++) {
      const text = turn === 3
        ? fact("alpha", "q7f3")
        : turn % 50 === 0
        ? `${turn}: read the file`
        : `${turn}: ${WORDS}`;
      await answer(it, text);
    }
    assertEquals(await answer(it, askFor("alpha")), "q7f3");
    assertEquals(await answer(it, askFor("beta")), "I do not know", "the control");
    assertEquals(seen.refused, 0);
    assertLess(seen.longest, LIMIT);
    assertEquals(seen.prefixes.size, 1, "system prompt and tools stay the same bytes");
    const compactions = it.client.of("session.compacted");
    assertGreater(compactions.length, 10);
    assertLess(compactions.length, TURNS / 10, "each makes room for many turns");
    for (const { data } of compactions) {
      assertEquals([data.reason, data.problem], ["limit", undefined]);
      assertLess(data.tokens_after, 0.8 * data.tokens_before);
    }
    const { context } = await it.call("session.get");
    assertEquals(context.limit, LIMIT);
    assertLess(context.used, LIMIT);
    console.log(`${seen.summaries} summaries, ${compactions.length} compactions`);
  },
});

Deno.test({
  name: "old outputs go first, without a model call, and read_earlier reads them again in pieces",
  ignore,
  async fn() {
    let next: Answer = { text: ["fine"] };
    const { script, seen } = forgetful({
      limit: LIMIT,
      answer: ({ messages }) => messages.at(-1)?.role === "tool" ? { text: ["seen"] } : next,
    });
    await using it = await Scenario.begin(script, { toml: SMALL });
    const text = Array.from({ length: 500 }, (_, n) => `line ${n} of the file\n`).join("");
    Deno.writeTextFileSync(`${it.workdir}/long.txt`, text);
    for (let n = 1; it.client.of("session.compacted").length === 0; n++) {
      assertLess(n, 40);
      next = { calls: [{ id: `call_${n}`, name: "read_file", args: { path: "long.txt" } }] };
      await it.turn(`read it, time ${n}`);
    }
    const [{ data }] = it.client.of("session.compacted");
    assertEquals([data.until_seq, seen.summaries], [undefined, 0]);
    assert(data.outputs_seq > 0);
    const results = it.asked.at(-1)!.flatMap((it) => it.role === "tool" ? it.results : []);
    const note = results[0].output;
    const seq = Number(/read_earlier with seq (\d+) reads it again/.exec(note)?.[1]);
    const [first] = it.client.of("session.tool_completed");
    assertEquals(seq, first.seq);

    const read = async (args: Record<string, unknown>) => {
      next = { calls: [{ name: "read_earlier", args }] };
      await it.turn("read it again");
      return it.client.of("session.tool_completed").at(-1)!.data;
    };
    const output = first.data.output as string;
    const piece = await read({ seq, offset: 100, limit: 50 });
    assertEquals(piece.output.split("\n[characters")[0], output.slice(100, 150));
    assert(piece.output.endsWith(`100 to 150 of ${output.length}; continue with offset 150]`));
    assertEquals((await read({ seq, offset: output.length - 5 })).output, output.slice(-5));
    const message = it.client.of("user.message")[0];
    assertEquals((await read({ seq: message.seq })).output, message.data.text);
    for (const none of [1, 99_999]) {
      const { ok, output } = await read({ seq: none });
      assertEquals([ok, output], [
        false,
        `record ${none} of this session has neither an output nor a message`,
      ]);
    }
  },
});

/** How providers say that a conversation is too long, for a limit that nobody has told svc. */
const REFUSALS: Record<string, (tokens: number, limit: number) => NonNullable<Answer["status"]>> = {
  "OpenAI": (tokens, limit) => ({
    code: 400,
    type: "context_length_exceeded",
    message: `This model's maximum context length is ${limit} tokens. However, your messages ` +
      `resulted in ${tokens} tokens.`,
  }),
  "Anthropic": (tokens, limit) => ({
    code: 400,
    message: `prompt is too long: ${tokens} tokens > ${limit} maximum`,
  }),
  "Google": (tokens, limit) => ({
    code: 400,
    message: `The input token count (${tokens}) exceeds the maximum number of tokens allowed ` +
      `(${limit}).`,
  }),
  "a 413": () => ({ code: 413, message: "Request Entity Too Large" }),
  "llama.cpp": (_, limit) => ({
    code: 500,
    message: `the request exceeds the available context size (${limit} tokens), try increasing it`,
  }),
};

for (const [who, refusal] of Object.entries(REFUSALS)) {
  Deno.test({
    name: `a conversation that is too long is made shorter and sent again: ${who}`,
    ignore,
    async fn() {
      const { script, seen } = forgetful({ limit: 12_000, refusal });
      await using it = await Scenario.begin(script);
      await answer(it, fact("alpha", "q7f3"));
      for (let n = 0; n < 15; n++) await answer(it, `${n}: ${"some words ".repeat(400)}`);
      assertEquals(await answer(it, askFor("alpha")), "q7f3");
      assertGreater(seen.refused, 0);
      const compactions = it.client.of("session.compacted").map(({ data }) => data);
      assertEquals(compactions[0].reason, "too_long");
      const { context } = await it.call("session.get");
      if (!who.includes("413")) {
        assertEquals(compactions[0].learned, { model: it.model, tokens: 12_000 });
        assertEquals(context.limit, 12_000);
        // A limit that was learned is heeded, also after a restart.
        const { refused } = seen;
        await it.restart();
        for (let n = 0; n < 15; n++) await answer(it, `${n}: ${"some words ".repeat(400)}`);
        assertEquals(seen.refused, refused);
      }
    },
  });
}

Deno.test({
  name:
    "a large request that is refused in words nobody knows is shortened once; a small one is not",
  ignore,
  async fn() {
    const refusal = () => ({ code: 400, message: "Bad Request" });
    const { script } = forgetful({ limit: 12_000, refusal });
    await using it = await Scenario.begin(script, { toml: "context_tokens = 20000\n" });
    await answer(it, fact("alpha", "q7f3"));
    for (let n = 0; n < 15; n++) await answer(it, `${n}: ${"some words ".repeat(400)}`);
    assertEquals(await answer(it, askFor("alpha")), "q7f3");
    const compactions = it.client.of("session.compacted").map(({ data }) => data.reason);
    assertEquals(compactions[0], "too_long");
    // The control: the same words for a short conversation end the turn.
    await using other = await Scenario.begin(() => ({ status: refusal() }));
    const { data } = await other.turn("hello");
    assertEquals([data.stop_reason, other.server.requests.length], ["error", 1]);
    assertEquals(other.client.of("session.compacted"), []);
  },
});

for (
  const message of [
    "maximum context length exceeded",
    "This model's maximum context length is 12000 tokens.",
    "prompt is too long: 25000 tokens > 20000 maximum",
  ]
) {
  Deno.test({
    name: `where every answer is "${message}", the conversation is shortened once, not away`,
    ignore,
    async fn() {
      let refuses = false;
      const { script } = forgetful({ limit: 200_000 });
      await using it = await Scenario.begin((request) =>
        refuses ? { status: { code: 400, message } } : script(request)
      );
      for (let n = 0; n < 10; n++) await answer(it, `${n}: ${"some words ".repeat(800)}`);
      const compactions = () => it.client.of("session.compacted").length;
      const refused = async () => {
        const sent = it.server.requests.length;
        const { data } = await it.turn("go on");
        assertEquals(data.stop_reason, "error");
        assert(
          /shortened .* to about \d+ tokens.* choose another model/.test(data.error),
          data.error,
        );
        return it.server.requests.length - sent;
      };
      refuses = true;
      // The message, the summary of less and less, and the message again.
      assertLess(await refused(), 8);
      assertEquals(compactions(), 1);
      // Nothing has changed for the next turn, nor after a restart.
      assertEquals([await refused(), compactions()], [1, 1]);
      await it.restart();
      assertEquals([await refused(), compactions()], [1, 1]);
      // The control: a model that takes it goes on with what is left.
      refuses = false;
      assertEquals(await answer(it, fact("alpha", "q7f3")), "noted");
      assertEquals(await answer(it, askFor("alpha")), "q7f3");
      assert(JSON.stringify(it.asked.at(-1)).includes("9: some words"));
    },
  });
}

Deno.test({
  name: "counts of tokens that cannot be true shorten nothing",
  ignore,
  async fn() {
    let turn = 0;
    const counted = () => ({ text: "noted", usage: { input: 90_000 * ++turn } });
    await using it = await Scenario.begin(counted);
    for (let n = 0; n < 4; n++) await answer(it, `${n}: some words`);
    assertEquals(it.client.of("session.compacted"), []);
    assertEquals(it.server.requests.length, 4);
  },
});

const FAILURES: Record<string, [() => Answer, RegExp]> = {
  "empty": [() => ({ text: [" \n"] }), /wrote no summary/],
  "refused": [() => ({ status: { code: 400, message: "no summaries here" } }), /no summaries here/],
  "too long": [() => ({ text: ["words ".repeat(40_000)] }), /far too long/],
  "longer than what it replaces": [
    () => ({ text: [WORDS.repeat(60)] }),
    /longer than what it stands for|far too long/,
  ],
  "a call": [() => ({ calls: [{ name: "list_dir", args: {} }] }), /wrote no summary/],
};

for (const [how, [summary, problem]] of Object.entries(FAILURES)) {
  Deno.test({
    name: `where the summary is ${how}, the oldest is left out and that is said`,
    ignore,
    async fn() {
      const { script, seen } = forgetful({ limit: LIMIT, summary });
      await using it = await Scenario.begin(script, { toml: SMALL });
      for (let n = 1; it.client.of("session.compacted").length < 2; n++) {
        assertLess(n, 200);
        await answer(it, `${n}: ${"some words ".repeat(800)}`);
      }
      for (const { data } of it.client.of("session.compacted")) {
        assert(problem.test(data.problem), data.problem);
        assertEquals(data.summary, "");
      }
      const left_out = "[The conversation before this was left out to save room";
      assert(
        it.asked.at(-1)!.some((said) => said.role === "user" && said.text.startsWith(left_out)),
      );
      assertEquals([seen.refused, seen.summaries], [0, 2]);
      const { lanes } = await it.call("lanes.list");
      const status = lanes.filter((it: { label: string }) => it.label === "compaction")
        .map((it: { status: string }) => it.status);
      assertEquals(new Set(status).size, 1);
    },
  });
}

Deno.test({
  name: "a message longer than the context is cut for the model, which can read all of it",
  ignore,
  async fn() {
    const { script, seen } = forgetful({ limit: LIMIT });
    await using it = await Scenario.begin(script, { toml: SMALL });
    await answer(it, fact("alpha", "q7f3"));
    const text = `${"paste ".repeat(100_000)}the end`;
    assertEquals(await answer(it, text), "noted");
    assertEquals(await answer(it, askFor("alpha")), "q7f3");
    assertEquals(seen.refused, 0);
    const { seq } = it.client.of("user.message")[1];
    const sent = JSON.stringify(it.asked.at(-1));
    assert(sent.includes(`read_earlier with seq ${seq} reads all of it`));
  },
});

Deno.test({
  name: "session.compact sums up between turns and within one; what it left out stays told",
  ignore,
  async fn() {
    const gate = Promise.withResolvers<void>();
    const { script, seen } = forgetful({
      limit: 200_000,
      answer: ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role !== "user" || !last.text.endsWith("wait")) return { text: [WORDS] };
        return { text: ["a", "b"], hang_after: 1, go_on: gate.promise };
      },
    });
    await using it = await Scenario.begin(script);
    assertEquals(await it.call("session.compact"), { compacted: false });
    await answer(it, fact("alpha", "q7f3"));
    Deno.writeTextFileSync(`${it.workdir}/rules.txt`, "rules");
    for (let n = 0; n < 10; n++) await answer(it, `${n}: ${WORDS}`);
    const done = await it.call("session.compact");
    assertEquals(done.compacted, true);
    assertLess(done.tokens_after, done.tokens_before);
    assertEquals((await it.call("session.get")).context.used, done.tokens_after);
    assertEquals(await answer(it, askFor("alpha")), "q7f3");
    assertEquals(it.types().filter((type) => type === "turn.started").length, 12);

    // Within a turn it waits for the next step; a turn that has none ends first.
    for (let n = 0; n < 10; n++) await answer(it, `${n}: ${WORDS}`);
    const waiting = it.turn("wait");
    await it.event("session.delta", ({ data }) => data.text.includes("a") && data.text.length < 3);
    const compacting = it.call("session.compact");
    const during = it.send(askFor("alpha"));
    gate.resolve();
    await waiting;
    assertEquals((await compacting).compacted, true);
    await during;
    await it.event("turn.completed", ({ data }) => data.message.endsWith("q7f3"));
    assertEquals(seen.summaries, 2);

    await it.call("session.pause");
    await assertRejects(() => it.call("session.compact"), Error, "paused");
  },
});

Deno.test({
  name: "a compaction that is called off changes nothing: cancel, pause, kill of its lane",
  ignore,
  async fn() {
    let hold = true;
    const { script } = forgetful({
      limit: 200_000,
      answer: () => ({ text: [WORDS] }),
      summary: (facts) => hold ? { text: ["a", "b"], hang_after: 1 } : { text: [facts] },
    });
    await using it = await Scenario.begin(script);
    await answer(it, fact("alpha", "q7f3"));
    for (let n = 0; n < 10; n++) await answer(it, `${n}: ${WORDS}`);
    const before = await it.call("session.transcript");
    let lanes = 0;
    const begun = async () => {
      await until(
        () =>
          it.client.of("lane.delta").filter(({ data }) => data.lane_id !== "main").length > lanes,
        "text of the summary",
      );
      lanes++;
    };
    for (const method of ["session.cancel", "session.pause"]) {
      const compacting = assertRejects(() => it.call("session.compact"), Error, "stopped");
      await begun();
      await it.call(method);
      await compacting;
      if (method === "session.pause") await it.call("session.resume");
    }
    const after = await it.call("session.transcript");
    assertEquals(after.messages, before.messages);
    assertEquals(it.client.of("session.compacted"), []);

    const compacting = it.call("session.compact");
    await begun();
    const lane_id = it.client.of("lane.created").at(-1)!.data.lane_id;
    await it.call("lanes.kill", { lane_id });
    assertEquals((await compacting).compacted, true);
    const { problem } = it.client.of("session.compacted")[0].data;
    assertEquals(problem, 'the lane "compaction" was killed');
    hold = false;
  },
});
