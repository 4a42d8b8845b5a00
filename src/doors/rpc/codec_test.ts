import { joined } from "../../base/text_slices.ts";
import { assert, assertEquals } from "@std/assert";
import * as z from "zod";
import { BATCH_ANSWER_MAX, bind, Dispatcher, verbsOf } from "../../verbs/define.ts";
import { answer } from "./codec.ts";

const text = "x".repeat(1024 * 1024);
let calls = 0;

const dispatcher = new Dispatcher(bind([
  verbsOf<unknown>()({
    name: "test.text",
    summary: "Gives a text of some MiB.",
    access: "read",
    input: () => z.object({ mib: z.int() }),
    output: () => z.object({ text: z.string() }),
    handle(_, { mib }) {
      calls++;
      return { text: text.repeat(mib) };
    },
  }),
], undefined));
const call = { signal: new AbortController().signal };

/** What a message or batch is answered with, its texts as their lengths. */
// deno-lint-ignore no-explicit-any -- each test looks at what it expects
async function ask(message: unknown): Promise<{ size: number; answers: any[] }> {
  let said = "";
  const answering = { dispatcher, caller: { via: "socket" as const }, call };
  await answer(JSON.stringify(message), answering, (text) => void (said = joined(text)));
  const shorten = (name: string, value: unknown) => name === "text" ? String(value).length : value;
  return { size: said.length, answers: [JSON.parse(said, shorten)].flat() };
}

function request(id: number | undefined, mib: number) {
  return { jsonrpc: "2.0", id, method: "test.text", params: { mib } };
}

Deno.test("an answer that is too large is an error that says what to do", async () => {
  const { answers: [{ id, error }] } = await ask(request(7, 65));
  assertEquals([id, error.code, error.data.svc_code], [7, -32600, "payload_too_large"]);
  assert(error.message.includes("64 MiB"), error.message);
  assert(error.data.hint.includes("`last`"));
  const { answers: [{ result }] } = await ask(request(7, 60));
  assertEquals(result.text, 60 * 1024 * 1024);
});

Deno.test("the answers to a batch are bounded together, and each call knows what became of it", async () => {
  calls = 0;
  const asked = Array.from({ length: 1000 }, (_, n) => request(n, 1));
  const { size, answers } = await ask(asked);
  assert(size < BATCH_ANSWER_MAX + 1000 * 400, String(size));
  assertEquals(answers.map(({ id }) => id), asked.map(({ id }) => id));
  const given = answers.filter(({ result }) => result !== undefined);
  assertEquals(given.length, 15);
  const refused = answers.filter(({ error }) => error?.data.svc_code === "payload_too_large");
  assertEquals(given.length + refused.length, 1000);
  const not_called = refused.filter(({ error }) =>
    error.message.includes("this call was not made")
  );
  assertEquals(calls, 1000 - not_called.length);
});

Deno.test("small answers always have room, and notifications are carried out", async () => {
  calls = 0;
  const { answers } = await ask([
    request(1, 15),
    request(2, 0),
    request(undefined, 5),
    request(3, 0),
  ]);
  assertEquals(answers.map(({ id, result }) => [id, result.text]), [
    [1, 15 * 1024 * 1024],
    [2, 0],
    [3, 0],
  ]);
  assertEquals(calls, 4);
});
