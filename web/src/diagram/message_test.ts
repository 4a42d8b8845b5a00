import { assertEquals } from "@std/assert";
import { answerOf, nameOf } from "./message.ts";

Deno.test("a diagram is named by what it says that it shows, else by its first line", () => {
  for (
    const [code, name] of [
      ["graph TD\n  A --> B", "graph TD"],
      ["\n  %% a remark\n%%{init: {}}%%\n  graph LR\n", "graph LR"],
      ["---\ntitle: The way in\nconfig:\n  look: classic\n---\ngraph TD", "The way in"],
      ["---\nconfig:\n  look: classic\n---\n\ngraph TD\n A --> B", "graph TD"],
      ["gantt\n  title A plan\n  section One", "A plan"],
      ["graph TD\n  accTitle: How it starts\n  A --> B", "How it starts"],
      ["sequenceDiagram\n  titled->>B: x", "sequenceDiagram"],
      ["", ""],
      ["x".repeat(500), "x".repeat(80)],
      [`---${"\n ".repeat(9_000)}`, "---"],
    ]
  ) assertEquals(nameOf(code), name);
});

Deno.test("an answer of a frame is bounded, whatever it says", () => {
  assertEquals(answerOf({ width: 10.2, height: 1e9 }), { width: 11, height: 10_000 });
  for (const side of [0, -1, NaN, "7px; color: red", null, {}]) {
    assertEquals(answerOf({ width: side, height: side }), { width: undefined, height: undefined });
  }
  assertEquals(answerOf(null), { width: undefined, height: undefined });
  assertEquals(answerOf({ failure: "x".repeat(500), width: 1 }), { failure: "x".repeat(200) });
});
