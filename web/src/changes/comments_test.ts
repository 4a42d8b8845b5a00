import { assertEquals } from "@std/assert";
import { commentsText } from "./comments.ts";

const at = { id: "1", path: "src/a.ts", side: "new" as const };

Deno.test("one message quotes file, lines and their text of each comment, in order", () => {
  const text = commentsText([
    { ...at, from: 9, to: 9, quote: "late();", text: "Too late. " },
    { ...at, from: 3, to: 4, quote: "if (a) {\n}", text: "Empty?" },
    { ...at, path: "b.md", side: "old", from: 1, to: 1, quote: "```ts", text: "Why gone?" },
  ]);
  assertEquals(
    text,
    "3 comments on the changes:\n\n" +
      "b.md, line 1 before the change:\n````\n```ts\n````\nWhy gone?\n\n" +
      "src/a.ts, lines 3–4:\n```\nif (a) {\n}\n```\nEmpty?\n\n" +
      "src/a.ts, line 9:\n```\nlate();\n```\nToo late.",
  );
  assertEquals(
    commentsText([{ ...at, from: 1, to: 1, quote: "x", text: "y" }]),
    "A comment on the changes:\n\nsrc/a.ts, line 1:\n```\nx\n```\ny",
  );
});
