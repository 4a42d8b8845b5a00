import { assertEquals } from "@std/assert";
import { GoogleAnswer } from "./google_wire.ts";

// deno-lint-ignore no-explicit-any -- events as they are sent
type Json = any;

function read(events: Json[], { before = false, whole = false } = {}) {
  const lost: string[] = [];
  let open_end = false;
  const answer = new GoogleAnswer({
    accepts_open_end: before,
    onOpenEnd: () => open_end = true,
    onLost: (what) => lost.push(what),
  });
  const out = [
    ...whole ? answer.whole(events[0]) : events.flatMap((it) => answer.take(JSON.stringify(it))),
    ...whole ? [] : answer.end(),
  ].map((it) => JSON.parse(it));
  const candidates = out.flatMap((it) => it.candidates ?? []);
  const parts = candidates.flatMap(({ content }) => content.parts);
  return {
    text: parts.map(({ text = "" }) => text).join(""),
    calls: parts.flatMap(({ functionCall }) => functionCall ?? []),
    reasons: candidates.flatMap(({ finishReason }) => finishReason ?? []),
    usage: out.findLast((it) => it.usageMetadata)?.usageMetadata,
    lost,
    open_end,
  };
}

const says = (parts: Json, more: Json = {}) => ({ candidates: [{ content: { parts }, ...more }] });

Deno.test("an exact answer stays as it is", () => {
  const said = read([says([{ text: "a" }]), says([{ text: "b" }], { finishReason: "STOP" })]);
  assertEquals([said.text, said.reasons, said.open_end], ["ab", ["STOP"], false]);
});

Deno.test("a call that arrived whole runs, also when the end is not told", () => {
  const said = read([says([{ functionCall: { name: "ls", args: { path: "." } } }])]);
  assertEquals(said.calls, [{ name: "ls", args: { path: "." } }]);
  assertEquals([said.reasons, said.open_end], [["STOP"], false]);
});

Deno.test("text whose end is not told is cut off, until a server does the same again", () => {
  const cut = read([says([{ text: "half" }])]);
  assertEquals([cut.reasons, cut.open_end, cut.lost], [[], true, []]);
  const again = read([says([{ text: "half" }])], { before: true });
  assertEquals([again.reasons, again.open_end, again.lost.length], [["STOP"], true, 1]);
  assertEquals(read([says([])], { before: true }).reasons, []);
});

Deno.test("only the first candidate counts, and one without parts is none", () => {
  const second = { index: 1, content: { parts: [{ text: "other" }] }, finishReason: "STOP" };
  const said = read([
    { candidates: [{ index: 0, content: { parts: [{ text: "a" }] } }, second] },
    { candidates: [second] },
    { candidates: [{ index: 0, content: null, finishReason: "stop" }] },
  ]);
  assertEquals([said.text, said.reasons], ["a", ["STOP"]]);
});

Deno.test("arguments as text, ids as numbers, usage as text and an envelope are read", () => {
  const said = read([{
    response: {
      ...says([{ functionCall: { id: 4, name: "ls", args: '{"path":"."}' } }], {
        finishReason: "STOP",
      }),
      usageMetadata: { promptTokenCount: "12" },
    },
  }]);
  assertEquals(said.calls, [{ id: "4", name: "ls", args: { path: "." } }]);
  assertEquals(said.usage, { promptTokenCount: 12 });
});

Deno.test("parts of other kinds are left out and named", () => {
  const said = read([
    says([{ executableCode: { code: "1" } }, { text: "a" }], { finishReason: "STOP" }),
  ]);
  assertEquals([said.text, said.lost], ["a", [
    "a part of the answer of an unknown kind (executableCode)",
  ]]);
});

Deno.test("a whole answer is read", () => {
  assertEquals(read([says([{ text: "a" }], { finishReason: "STOP" })], { whole: true }).text, "a");
});
