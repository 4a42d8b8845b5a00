import { assertEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { select } from "./jsonpath.ts";

const VALUE = { lanes: [{ label: "a", status: "done" }, { label: "b", status: "running" }] };

Deno.test("a query selects values", () => {
  assertEquals(select('$.lanes[?@.status == "running"].label', VALUE), ["b"]);
  assertEquals(select("$..label", VALUE), ["a", "b"]);
  assertEquals(select("$.constructor", VALUE), []);
});

Deno.test("a wrong query, and a regular expression, are refused", () => {
  for (const query of ["lanes", "$.lanes[", "$.lanes[?match(@.label, '(a+)+')]", "$[(@.length)]"]) {
    assertThrows(() => select(query, VALUE), SvcError, "jsonpath:");
  }
});
