/** Token counts that cannot be true, limits that cannot be reached, and what a compaction may not take. */
import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { asksForSummary, forgetful } from "../support/forgetful.ts";
import type { ParsedRequest } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;
const LIMIT = 32_000;
const SMALL = `context_tokens = ${LIMIT}\n`;
const LINES = `${"x".repeat(79)}\n`.repeat(200);

/** The results of tools in a request, with their number of characters. */
function resultsIn({ messages }: ParsedRequest): string[] {
  return messages.flatMap((it) => it.role === "tool" ? it.results.map(({ output }) => output) : []);
}

for (
  const [report, factor] of [
    ["anthropics/claude-code#85483: 6.34 times", 6.34],
    ["MoonshotAI/kimi-code#2498: the whole limit for little", LIMIT / 2_000],
    ["a server that counts in characters", 40],
  ] as const
) {
  Deno.test({
    name: `a count that cannot be true shortens nothing (${report})`,
    ignore,
    async fn() {
      let sent = 0;
      const { script, seen } = forgetful({
        limit: LIMIT,
        answer: ({ body }) => {
          sent = Math.ceil(JSON.stringify(body).length / 4);
          return { text: ["fine"], usage: { input: Math.ceil(sent * factor) } };
        },
      });
      await using it = await Scenario.begin(script, { toml: SMALL });
      for (let turn = 1; turn <= 5; turn++) {
        const { data } = await it.turn(`turn ${turn}`);
        assertEquals([data.stop_reason, data.message], ["ok", "fine"]);
      }
      assertGreater(sent * factor, 0.9 * LIMIT, "the control: the count was over the limit");
      assertEquals([it.client.of("session.compacted"), seen.summaries], [[], 0]);
    },
  });
}

Deno.test({
  name:
    "where instructions and tools alone are over the threshold, no turn begins with a summary (MoonshotAI/kimi-code#2498)",
  ignore,
  async fn() {
    let prefix = 0;
    const { script, seen } = forgetful({
      limit: Number.MAX_SAFE_INTEGER,
      answer: ({ body }) => {
        prefix ||= Math.ceil(JSON.stringify([body.messages[0], body.tools]).length / 4);
        const input = Math.ceil(JSON.stringify(body).length / 4);
        return { text: ["fine"], usage: { input } };
      },
    });
    await using it = await Scenario.begin(script, { toml: "context_tokens = 5000\n" });
    for (let turn = 1; turn <= 6; turn++) {
      assertEquals((await it.turn(`turn ${turn}`)).data.stop_reason, "ok");
    }
    assertGreater(prefix, 4_000, "the control: they fill the context");
    assertLess(seen.summaries, 2);
    assertLess(it.client.of("session.compacted").length, 2);
  },
});

Deno.test({
  name:
    "a turn of many calls is shortened between two steps, and goes on with its message and newest results (earendil-works/pi#7821, MoonshotAI/kimi-code#2680)",
  ignore,
  async fn() {
    const CALLS = 40;
    let calls = 0;
    const shortened: ParsedRequest[] = [];
    const { script, seen } = forgetful({
      limit: LIMIT,
      answer: (request) => {
        const { messages } = request;
        const last = messages.at(-1);
        if (last?.role === "user" && last.text.endsWith("an older request")) {
          return { text: ["done"] };
        }
        assertEquals(asksForSummary(request), false);
        shortened.push(request);
        if (calls === CALLS) return { text: ["all read"] };
        return {
          calls: [{ id: `call_${++calls}`, name: "read_file", args: { path: `${calls}.txt` } }],
        };
      },
    });
    await using it = await Scenario.begin(script, { toml: SMALL });
    for (let n = 1; n <= CALLS; n++) {
      Deno.writeTextFileSync(`${it.workdir}/${n}.txt`, `file ${n}\n${LINES}`);
    }
    await it.turn("an older request");
    const { seq, data } = await it.turn("read all of the files");
    assertEquals([data.stop_reason, data.message], ["ok", "all read"]);
    const compactions = it.client.of("session.compacted");
    assertGreater(compactions.length, 0);
    assert(compactions.every((each) => each.seq < seq), "before the end of the turn");
    assertEquals([seen.refused, seen.longest <= LIMIT], [0, true]);
    for (const [n, request] of shortened.entries()) {
      const asked = request.messages.filter((each) => each.role === "user").map(({ text }) => text);
      assert(asked.some((text) => text.endsWith("read all of the files")), `request ${n}`);
      if (n > 0) assert(resultsIn(request).at(-1)!.includes(`file ${n}\n`), `request ${n}`);
    }
  },
});
