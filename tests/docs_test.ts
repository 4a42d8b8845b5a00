import { assertEquals, assertThrows } from "@std/assert";
import { VERBS } from "../src/verbs/registry.ts";
import { README, withVerbs } from "../install/docs.ts";

Deno.test("README.md has every verb; `deno task docs` brings it up to date", () => {
  const text = Deno.readTextFileSync(README);
  assertEquals(text, withVerbs(text, VERBS));
});

Deno.test("a text without the marks is refused", () => {
  assertThrows(() => withVerbs("# svc", VERBS), Error, "lacks <!-- verbs -->");
});
