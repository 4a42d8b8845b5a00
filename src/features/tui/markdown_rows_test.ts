import { assert, assertEquals } from "@std/assert";
import { Layouts } from "./layout.ts";
import { layMarkdown } from "./markdown_rows.ts";
import type { Entry } from "./model.ts";
import { type Line, lineText, loadColumns, width } from "./text.ts";

await loadColumns();

function rowsOf(text: string, cols = 40): readonly Line[] {
  return layMarkdown(text, cols, true).rows;
}

function textOf(text: string, cols = 40): string[] {
  return rowsOf(text, cols).map((row) => lineText(row).trimEnd());
}

function entryOf(text: string): Entry {
  return {
    id: 1,
    kind: "assistant",
    lines: text.split("\n"),
    epoch: 0,
    size: text.length,
  };
}

const ANSWER = `# A title

Some **bold** and *slanted* words, \`code\`, and a line
break.

- one
- two with a text that is longer than the row
  1. nested
  2. again
- [x] done

> quoted
> text

\`\`\`ts
const x: number = 1; // why
\`\`\`

| name | what it is |
| --- | --- |
| a | first |
| b | second |

---

The end: [here](https://example.com/a) or https://example.org
`;

Deno.test("headings, lists, quotes, code and tables are drawn as such", () => {
  assertEquals(textOf(ANSWER), [
    "A title",
    "",
    "Some bold and slanted words, code, and a",
    "line",
    "break.",
    "",
    "• one",
    "• two with a text that is longer than",
    "  the row",
    "  1. nested",
    "  2. again",
    "• ☑ done",
    "",
    "│ quoted",
    "│ text",
    "",
    "│ ts",
    "│ const x: number = 1; // why",
    "",
    "name │ what it is",
    "─────┼───────────",
    "a    │ first",
    "b    │ second",
    "",
    "─".repeat(40),
    "",
    "The end: here (https://example.com/a) or",
    "https://example.org",
  ]);
});

Deno.test("code has colours by its language; words keep their style where a row breaks", () => {
  const [label, row] = rowsOf("```ts\nconst x = 1; // why\n```");
  const edge = { text: "│ ", style: "dim", beside: true } as const;
  assertEquals(label, [edge, { text: "ts", style: "dim" }]);
  assertEquals(
    row.slice(1).filter(({ text }) => text.trim() !== "").map((
      { text, style },
    ) => [text.trim(), style]),
    [
      ["const", "keyword"],
      ["x =", "plain"],
      ["1", "number"],
      [";", "plain"],
      ["// why", "comment"],
    ],
  );
  const bold = rowsOf(`**${"word ".repeat(20).trim()}**`, 20);
  assert(bold.length > 3);
  assert(bold.every((spans) => spans.every(({ style }) => style === "bold")));
});

Deno.test("a link leads to the web or a mailbox only, and shows where", () => {
  const linked = (text: string) =>
    rowsOf(text, 200).flat().filter(({ href }) => href !== undefined);
  assertEquals(linked("[a](https://example.com)").map(({ href }) => href), [
    "https://example.com/",
  ]);
  for (const href of ["javascript:alert(1)", "file:///etc/passwd", "ssh://x", "/a", "x y"]) {
    assertEquals(linked(`[a](${href})`), []);
  }
  assertEquals(textOf("[https://good.example](https://evil.example)"), [
    "https://good.example",
    "(https://evil.example)",
  ]);
  const [{ href }] = linked("[a](https://example.com/日本?q=é)");
  assert(/^[\x21-\x7e]+$/.test(href!));
});

Deno.test("an image is one line: its description and where it is, without its data", () => {
  const shown = (text: string) => rowsOf(text, 200).map(lineText);
  assertEquals(shown("![a cat](https://example.com/cat.png)"), [
    "image: a cat (https://example.com/cat.png)",
  ]);
  assertEquals(shown(`![dot](data:image/png;base64,${"A".repeat(5_000)})`), [
    "image: dot (image/png)",
  ]);
  assertEquals(shown("![](https://example.com/b)"), ["image (https://example.com/b)"]);
});

Deno.test("no row is wider than the screen, at any width", () => {
  const wide = ANSWER + "\n| 日本 | " + "wide 日本 ".repeat(9) +
    "|\n| --- | --- |\n| 👍🏽 | x |\n\n" +
    "> - " + "x".repeat(100) + "\n>   > 1. ```\n" + "- ".repeat(30) + "deep";
  for (const cols of [120, 60, 40, 20, 12, 9, 5, 2, 1]) {
    for (const row of rowsOf(wide, cols)) {
      // A character wider than the screen stands alone.
      assert(width(lineText(row)) <= Math.max(cols, 2), `${cols}: ${lineText(row)}`);
    }
  }
});

Deno.test("a table without room for its columns shows each row as a list", () => {
  const table = "| one | two | three |\n| --- | --- | --- |\n| aaaa | bbbb | cccc |\n";
  assertEquals(textOf(table, 13), ["one: aaaa", "two: bbbb", "three: cccc"]);
});

Deno.test("text that grows piece by piece has the same rows as at once, and keeps what is final", () => {
  const layouts = new Layouts();
  layouts.useMarkdown(layMarkdown);
  const options = { cols: 40, expanded: false };
  const growing = entryOf("");
  let kept: Line[] = [];
  for (let end = 1; end <= ANSWER.length; end++) {
    const text = ANSWER.slice(0, end);
    growing.lines = text.split("\n");
    growing.size = text.length;
    const rows = [...layouts.rows(growing, options)];
    const same = kept.findIndex((row, n) => rows[n] !== row);
    // Only the last block is drawn again.
    assert(same < 0 || kept.length - same < 10, text);
    kept = rows;
  }
  const whole = new Layouts();
  whole.useMarkdown(layMarkdown);
  assertEquals(kept, [...whole.rows(entryOf(ANSWER), options)]);
});

Deno.test("a very long block is laid out line by line, and takes little time at each piece", () => {
  const layouts = new Layouts();
  layouts.useMarkdown(layMarkdown);
  const entry = entryOf("# Title\n\nfirst\n\n");
  const options = { cols: 80, expanded: false };
  const started = performance.now();
  for (let n = 0; n < 20_000; n++) {
    entry.lines[entry.lines.length - 1] += "word ";
    entry.size += 5;
    if (n % 100 === 0) layouts.rows(entry, options);
  }
  const rows = layouts.rows(entry, options).map((row) => lineText(row).trim());
  assert(performance.now() - started < 10_000);
  assertEquals(rows.slice(0, 4), ["Title", "", "first", ""]);
  assertEquals(rows.join(" ").match(/word/g)!.length, 20_000);
});
