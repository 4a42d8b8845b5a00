import { assertEquals } from "@std/assert";
import { ResponsesAnswer } from "./responses_wire.ts";

// deno-lint-ignore no-explicit-any -- events as they are sent
type Json = any;

function read(events: Json[]) {
  const lost: string[] = [];
  const answer = new ResponsesAnswer((what) => lost.push(what));
  const out = [
    ...events.flatMap((it) => answer.take(typeof it === "string" ? it : JSON.stringify(it))),
    ...answer.end(),
  ].map((it) => JSON.parse(it));
  const items = out.filter(({ type }) => type === "response.output_item.done").map((it) => it.item);
  return {
    types: out.map(({ type }) => type.slice("response.".length)),
    text: out.filter(({ type }) => type === "response.output_text.delta")
      .map(({ delta }) => delta).join(""),
    calls: items.filter(({ type }) => type === "function_call")
      .map((it) => [it.call_id, it.name, it.arguments, it.status]),
    end: out.find(({ type }) => /completed|incomplete/.test(type))?.response,
    lost,
  };
}

const CREATED = { type: "response.created", response: { id: "r", created_at: 1, model: "m" } };
const item = {
  type: "function_call",
  id: "f",
  call_id: "c",
  name: "ls",
  arguments: "",
  status: "x",
};
const ADDED = { type: "response.output_item.added", output_index: 0, item };
const args = (delta: string) => ({
  type: "response.function_call_arguments.delta",
  item_id: "f",
  output_index: 0,
  delta,
});
const DONE = { type: "response.output_item.done", output_index: 0, item };
const END = { type: "response.completed", response: { id: "r", usage: { input_tokens: "3" } } };

Deno.test("an exact answer keeps its events, in their order", () => {
  const said = read([CREATED, ADDED, args('{"path":'), args('"."}'), DONE, END]);
  assertEquals(said.types, [
    "created",
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.delta",
    "output_item.done",
    "completed",
  ]);
  assertEquals(said.calls, [["c", "ls", '{"path":"."}', "completed"]]);
  assertEquals(said.end.usage, { input_tokens: 3, output_tokens: 0 });
});

Deno.test("a call whose end is missing ends with the answer; a cut answer has no end", () => {
  const open = [CREATED, ADDED, args("{}")];
  assertEquals(read([...open, END]).calls, [["c", "ls", "{}", "completed"]]);
  assertEquals(read([...open, "[DONE]"]).calls.length, 1);
  assertEquals([read(open).calls, read(open).end], [[], undefined]);
});

Deno.test("what the last event repeats is not told twice", () => {
  const text = { type: "response.output_text.delta", item_id: "m", output_index: 0, delta: "Hi" };
  const message = { type: "message", id: "m2", content: [{ type: "output_text", text: "Hi" }] };
  const end = {
    type: "response.completed",
    response: { output: [message, { ...item, arguments: "{}" }] },
  };
  const said = read([
    CREATED,
    text,
    { ...ADDED, output_index: 1 },
    { ...DONE, output_index: 1 },
    end,
    end,
  ]);
  assertEquals([said.text, said.calls.length], ["Hi", 1]);
  assertEquals(said.types.filter((type) => type === "completed").length, 1);
  assertEquals(read([CREATED, end]).calls.length, 1);
});

Deno.test("two calls without ids or indices are two calls", () => {
  const call = { type: "function_call", name: "ls", arguments: "{}" };
  const said = read([
    CREATED,
    { type: "response.output_item.done", item: call },
    { type: "response.output_item.done", item: call },
    END,
  ]);
  assertEquals(new Set(said.calls.map(([call_id]) => call_id)).size, 2);
});

Deno.test("an item of another kind is left out and named", () => {
  const other = { ...ADDED, item: { type: "citation", id: "x" } };
  assertEquals(read([CREATED, other, END]).lost, [
    "a part of the answer of an unknown kind (citation)",
  ]);
});
