/**
 * Reasoning that goes back to its server: in the field that it came in, with every answer, over turns
 * and a crash. Each server here is as strict as one that users of other agents reported.
 */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

// deno-lint-ignore no-explicit-any -- bodies as they are sent
type Json = any;

interface Strict {
  source: string;
  kind?: "openai" | "openai-compatible";
  /** The deltas of an answer before its text or its call. */
  thinks: Json[];
  /** The fields that each answer of the conversation has beside the usual ones. */
  wants: Json;
  /** The same for an answer that came without reasoning. */
  without?: Json;
}

const SERVERS: Record<string, Strict> = {
  "reasoning_content": {
    source: "the-open-agent/openagent#2206, leookun/cursor-byok#268",
    thinks: [{ reasoning_content: "I look \n" }, { reasoning_content: "first. 𝄞\n" }],
    wants: { reasoning_content: "I look \nfirst. 𝄞\n" },
    without: { reasoning_content: "" },
  },
  "reasoning_content from a server of the kind openai": {
    source: "QwenLM/qwen-code#3724",
    kind: "openai",
    thinks: [{ reasoning_content: "I look." }],
    wants: { reasoning_content: "I look." },
    without: { reasoning_content: "" },
  },
  "reasoning alone, and nothing else": {
    source: "QwenLM/qwen-code#11045, janhq/jan#8136",
    thinks: [{ reasoning: "I look" }, { reasoning: " first." }],
    wants: { reasoning: "I look first." },
  },
  "reasoning_details in pieces": {
    source: "can1357/oh-my-pi#787",
    thinks: [
      { reasoning: "I", reasoning_details: [{ type: "reasoning.text", index: 0, text: "I" }] },
      {
        reasoning: " look",
        reasoning_details: [{ type: "reasoning.text", index: 0, text: " look", signature: null }],
      },
      { reasoning_details: [{ type: "reasoning.text", index: 0, signature: "s1" }] },
      { reasoning_details: [{ type: "reasoning.encrypted", index: 1, data: "xyz" }] },
    ],
    wants: {
      reasoning: "I look",
      reasoning_details: [
        { type: "reasoning.text", index: 0, text: "I look", signature: "s1" },
        { type: "reasoning.encrypted", index: 1, data: "xyz" },
      ],
    },
  },
  "no field at all: the model thinks in its text": {
    source: "charmbracelet/crush#1590",
    thinks: [{ content: "<think>I look first.</think>\n" }],
    wants: {},
  },
};

const USUAL = ["role", "content", "tool_calls"];
const event = (delta: Json, finish_reason: string | null = null) =>
  `data: ${
    JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason }] })
  }\n\n`;

/** Answers with a call, after it with text, and notes what each answer in a request has beside both. */
function strictServer({ thinks, wants, without = {} }: Strict) {
  const seen: Json[][] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { messages } = await request.json();
    const answers = messages.filter(({ role }: Json) => role === "assistant");
    seen.push(
      answers.map((answer: Json) =>
        Object.fromEntries(Object.entries(answer).filter(([name]) => !USUAL.includes(name)))
      ),
    );
    const last = messages.at(-1);
    const user = messages.findLast(({ role }: Json) => role === "user").content;
    const blank = user.includes("quick");
    const deltas = blank ? [] : thinks;
    const call = [{ index: 0, id: `call_${messages.length}`, type: "function" }].map((it) => ({
      ...it,
      function: { name: "read_file", arguments: '{"path":"notes.txt"}' },
    }));
    const body = last.role === "tool"
      ? [...deltas.map((it) => event(it)), event({ content: "Done." }, "stop")]
      : [...deltas.map((it) => event(it)), event({ tool_calls: call }, "tool_calls")];
    return new Response(body.join("") + "data: [DONE]\n\n", {
      headers: { "content-type": "text/event-stream" },
    });
  });
  return { server, seen, wants, without };
}

for (const [name, strict] of Object.entries(SERVERS)) {
  Deno.test({
    name: `what a model thought goes back as it came, over a crash: ${name} (${strict.source})`,
    ignore,
    async fn() {
      const { server, seen, wants, without } = strictServer(strict);
      try {
        await using place = new Place();
        const { kind = "openai-compatible" } = strict;
        place.configure(
          `[cortex]\ncurator = false\n[agent]\ntitles = false\n[models.local]\nkind = "${kind}"\n` +
            `base_url = "http://127.0.0.1:${server.addr.port}/v1"\n`,
        );
        const workdir = place.mkdir("project");
        Deno.writeTextFileSync(join(workdir, "notes.txt"), "42\n");
        const daemon = await place.serve();
        let id: string;
        {
          await using client = await daemon.rpc();
          id = await client.session({ workdir, model: "local/m", approval: "auto" });
          assertEquals((await client.turn(id, "one")).data.stop_reason, "ok");
          assertEquals((await client.turn(id, "quick")).data.stop_reason, "ok");
        }
        await daemon.kill();
        await using client = await (await place.serve()).rpc();
        await client.rpc.call("session.subscribe", { session_id: id, since_seq: 0 });
        assertEquals((await client.turn(id, "three")).data.stop_reason, "ok");
        assertEquals(seen, [
          [],
          [wants],
          [wants, wants],
          [wants, wants, without],
          [wants, wants, without, without],
          [wants, wants, without, without, wants],
        ]);
      } finally {
        await server.shutdown();
      }
    },
  });
}
