import { assert, assertEquals, assertThrows } from "@std/assert";
import type { SessionEvent } from "../protocol/events.ts";
import { BadRecord, decodeRecord, encodeRecord } from "./record.ts";

const at = "2026-01-02T03:04:05.678Z";
const line = (event: SessionEvent) => encodeRecord(event, JSON.stringify(event.data));

Deno.test("a record is one line in the form of contract.md, section 6", () => {
  const event: SessionEvent = {
    seq: 7,
    at,
    type: "session.delta",
    data: { turn_id: "turn_1", text: "a\nb" },
  };
  assertEquals(
    line(event),
    `{"v":1,"seq":7,"at":"${at}","kind":"session.delta","turn_id":"turn_1","text":"a\\nb"}\n`,
  );
});

Deno.test("events come back as they were, whatever their fields are called and hold", () => {
  const text = 'quote " backslash \\ newline \n nul \0 emoji 🙂 lone \ud800 separator \u2028';
  const events: SessionEvent[] = [
    {
      seq: 1,
      at,
      type: "lane.created",
      data: { lane_id: "main", kind: "main", label: text, started_at: at },
    },
    { seq: 2, at, type: "daemon.reloaded", data: { at: "2020-01-01T00:00:00.000Z", version: "1" } },
    { seq: 3, at, type: "session.delta", data: { turn_id: "turn_1", text } },
    {
      seq: 4,
      at,
      type: "session.tool_started",
      data: {
        call_id: "call_1",
        tool: "write_file",
        args: { v: 9, seq: 9, at: 9, kind: 9, data_kind: [null, { deep: [1.5, text] }] },
        lane_id: "main",
        echo: { google: { thoughtSignature: "abc" } },
      },
    },
    { seq: 5, at, type: "session.paused", data: { reason: "operator" } },
  ];
  for (const event of events) {
    const written = line(event);
    assertEquals(written.indexOf("\n"), written.length - 1);
    assertEquals(decodeRecord(written.trimEnd()), event);
    // Through the bytes of a file.
    const bytes = new TextEncoder().encode(written);
    assertEquals(decodeRecord(new TextDecoder().decode(bytes).trimEnd()), event);
  }
});

Deno.test("an event without fields is a whole record", () => {
  const event = { seq: 1, at, type: "x.new", data: {} } as unknown as SessionEvent;
  assertEquals(line(event), `{"v":1,"seq":1,"at":"${at}","kind":"x.new"}\n`);
  assertEquals(decodeRecord(line(event).trimEnd()), event);
});

Deno.test("a line that is no record says why", () => {
  const cases: [string, string][] = [
    ["", "is not valid JSON"],
    ["\0\0\0\0", "is not valid JSON"],
    [`{"v":1,"seq":1,"at":"${at}","ki`, "is not valid JSON"],
    ["null", "is not a JSON object"],
    ["7", "is not a JSON object"],
    [`{"v":2,"seq":1,"at":"${at}","kind":"x"}`, "has schema version 2, this svc reads 1"],
    [`{"seq":1,"at":"${at}","kind":"x"}`, "has schema version undefined"],
    [`{"v":1,"seq":"1","at":"${at}","kind":"x"}`, "has no seq, at or kind"],
    [`{"v":1,"seq":1.5,"at":"${at}","kind":"x"}`, "has no seq, at or kind"],
    [`{"v":1,"seq":1,"kind":"x"}`, "has no seq, at or kind"],
    [`{"v":1,"seq":1,"at":"${at}"}`, "has no seq, at or kind"],
  ];
  for (const [text, why] of cases) assertThrows(() => decodeRecord(text), BadRecord, why);
});

Deno.test("every prefix of a record is refused: a torn line is never taken for a whole one", () => {
  const written = line({
    seq: 12,
    at,
    type: "user.message",
    data: { message_id: "msg_1", text: '{"v":1}' },
  }).trimEnd();
  for (let length = 0; length < written.length; length++) {
    assertThrows(() => decodeRecord(written.slice(0, length)), BadRecord);
  }
  assert(decodeRecord(written));
});
