import { assertEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { parseUri, uri } from "./uris.ts";

Deno.test("an address is taken apart as it was put together", () => {
  const id = "sess_1";
  assertEquals(parseUri(uri("sessions")).kind, "list");
  const one = parseUri(uri("tasks", "t-1"));
  assertEquals(one.kind === "one" && [one.collection.name, one.id], ["tasks", "t-1"]);
  assertEquals(parseUri(uri("sessions", id, "transcript")), {
    kind: "transcript",
    session_id: id,
  });
  assertEquals(parseUri(`${uri("sessions", id, "journal")}?since_seq=7`), {
    kind: "journal",
    session_id: id,
    since_seq: 7,
  });
  assertEquals(parseUri(uri("sessions", id, "lanes", "a/b c")), {
    kind: "lane",
    session_id: id,
    lane_id: "a/b c",
  });
});

Deno.test("an address of nothing is not found", () => {
  const nothing = [
    "",
    "sessions",
    "http://sessions/sess_1",
    "svc://nothing",
    "svc://tasks/t-1/transcript",
    "svc://sessions/sess_1/none",
    "svc://sessions/sess_1/lanes",
    "svc://sessions/sess_1/lanes/main/more",
  ];
  for (const text of nothing) {
    const error = assertThrows(() => parseUri(text), SvcError);
    assertEquals(error.code, "not_found", text);
  }
});

Deno.test("since_seq must be a seq", () => {
  for (const text of ["x", "-1", "1.5", ""]) {
    const address = `svc://sessions/sess_1/journal?since_seq=${text}`;
    assertEquals(assertThrows(() => parseUri(address), SvcError).code, "validation");
  }
});
