import { assert, assertEquals } from "@std/assert";
import { TextJoiner } from "./joined_text.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function openai(content: string, more = {}): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  return `data: ${JSON.stringify({ id: "answer", model: "m", choices, ...more })}\n\n`;
}

function anthropic(text: string, index = 0): string {
  const delta = { type: "text_delta", text };
  return `event: content_block_delta\n` +
    `data: ${JSON.stringify({ type: "content_block_delta", index, delta })}\n\n`;
}

/** What comes out of some chunks. */
function joined(...chunks: (string | Uint8Array<ArrayBuffer>)[]): string {
  const joiner = new TextJoiner();
  return chunks.map((chunk) =>
    decoder.decode(joiner.join(typeof chunk === "string" ? encoder.encode(chunk) : chunk))
  ).join("");
}

/** The text that a reader of the events finds. */
function textOf(stream: string): string {
  return stream.split("\n").filter((line) => line.startsWith("data: {")).map((line) => {
    const { choices, delta } = JSON.parse(line.slice(6));
    return choices?.[0].delta.content ?? delta.text;
  }).join("");
}

Deno.test("pieces of text that come at once become one event, in both formats", () => {
  assertEquals(joined(openai("a") + openai(' "b\\"\n') + openai("c")), openai('a "b\\"\nc'));
  assertEquals(joined(anthropic("ä") + anthropic("🙂")), anthropic("ä🙂"));
  const end = "data: [DONE]\n\n";
  assertEquals(joined(openai("a") + openai("b") + end), openai("ab") + end);
});

Deno.test("events that differ in more than their text stay apart", () => {
  for (
    const stream of [
      openai("a") + openai("b", { usage: { total_tokens: 1 } }),
      openai("a", { id: "one" }) + openai("a", { id: "two" }),
      anthropic("a", 0) + anthropic("b", 1),
      openai("a") + ": comment\n\n" + openai("b"),
      openai("a") + "data: {broken\n\n" + openai("b"),
      (openai("a") + openai("b")).replaceAll("\n", "\r\n"),
      // The same arguments twice are twice as many.
      openai("a").replace('"a"', '"a","tool_calls":[{"arguments":"x"}]').repeat(2),
    ]
  ) assertEquals(joined(stream), stream);
});

Deno.test("wherever the network cuts a stream, its text stays the same", () => {
  const texts = ["ä ", '"', "\\", "🙂", "\n\n", "", '"}', '\\"delta": {"content": "'];
  for (const format of [openai, anthropic]) {
    const stream = texts.map((text) => format(text)).join("") + format("end");
    const bytes = encoder.encode(stream);
    assertEquals(textOf(joined(stream)), textOf(stream));
    assert(joined(stream).length < stream.length);
    for (let one = 0; one <= bytes.length; one++) {
      const two = Math.min(one + 57, bytes.length);
      const cut = [bytes.slice(0, one), bytes.slice(one, two), bytes.slice(two)];
      const joiner = new TextJoiner();
      const out = cut.flatMap((part) => [...joiner.join(part)]);
      assertEquals(textOf(decoder.decode(new Uint8Array(out))), textOf(stream), `at ${one}`);
    }
  }
});
