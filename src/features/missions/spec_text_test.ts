import { assertEquals } from "@std/assert";
import { readText } from "./spec_text.ts";

const SPEC =
  "id: a\nname: b\nsessions: [{ id: s, title: t, tasks: [{ id: x, description: y }] }]\n";

Deno.test("a text is read with what an object cannot hold", () => {
  assertEquals(readText(SPEC).text_only, []);
  assertEquals(readText(`${SPEC}# the end`).text_only, ["comments"]);
  assertEquals(readText(SPEC.replace("name: b", "name: &n b")).text_only, ["anchors"]);
  assertEquals(readText(SPEC.replace("name: b", "name: !!str b")).text_only, ["tags"]);
  assertEquals(readText(SPEC.replace("name: b", 'name: "# & !"')).text_only, []);
  assertEquals(readText(SPEC.replace("name: b", "name: |\n  # b\n  !c")).text_only, []);
});

Deno.test("what is wrong is reported beside what the text says", () => {
  const { spec, issues } = readText("id: a\nextra: 1\nsessions: []\n");
  assertEquals(spec, { id: "a", extra: 1, sessions: [] });
  assertEquals(issues.map(({ path }) => path), ["name", "sessions"]);
  assertEquals(readText("[").spec, undefined);
  assertEquals(readText("- a").spec, undefined);
  assertEquals(readText("{").issues.length, 1);
  // Aliases that stand for more than any mission has.
  const bomb = `a: &a [${"x,".repeat(900)}]\nb: &b [${"*a,".repeat(900)}]\n`;
  const read = readText(`${bomb}c: *b\n`);
  assertEquals(read.spec, undefined);
  assertEquals(read.issues.length, 1);
});
