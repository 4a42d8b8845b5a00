import { assert, assertEquals } from "@std/assert";
import type { Token, Tokens } from "marked";
import { Blocks } from "./blocks.ts";
import { type FormulaToken, MarkdownLexer } from "./markdown_rules.ts";

function formulas(text: string): [string, boolean][] {
  const found: [string, boolean][] = [];
  const look = (tokens: readonly Token[] = []) => {
    for (const token of tokens) {
      if (token.type === "formula") {
        const { tex, block } = token as FormulaToken;
        found.push([tex, block]);
      } else if ("tokens" in token) look(token.tokens);
    }
  };
  look(new MarkdownLexer().lex(text));
  return found;
}

Deno.test("formulas are found in a line and by themselves, in dollars and in TeX's brackets", () => {
  assertEquals(formulas("so $x_1*y*z$ and \\(a\\) and **$b$**, $$c$$ too"), [
    ["x_1*y*z", false],
    ["a", false],
    ["b", false],
    ["c", true],
  ]);
  assertEquals(formulas("text\n\n$$\na\n- b\n\n= c\n$$\n\nmore"), [["a\n- b\n\n= c", true]]);
  assertEquals(formulas("text\n$$\na\n$$\nmore"), [["a", true]]);
  assertEquals(formulas("\\[\\frac{a}{b}\n\\]"), [["\\frac{a}{b}", true]]);
});

Deno.test("prices, variables of a shell and code are text", () => {
  for (
    const text of [
      "it costs $5 and $10",
      "from US$5 to HK$6, or $7/$8",
      "$HOME/bin:$PATH, ${a} and ${b}",
      "`$x$` and \\$x\\$",
      "```\n$$\nx\n$$\n```",
      "$ x $ and $$",
      `$${"x".repeat(6_000)}$`,
    ]
  ) assertEquals(formulas(text), [], text);
});

Deno.test("a formula that is being written is one block, whatever its lines look like", () => {
  const blocks = new Blocks();
  const text = "before\n\n$$\na\n\n- b\n\n# c\n\nd\n$$\n\nafter\n\nand\n\nmore";
  for (let end = 1; end <= text.length; end++) blocks.update(text.slice(0, end));
  assertEquals(blocks.update(text).map(({ raw }) => raw.trim()), [
    "before",
    "$$\na\n\n- b\n\n# c\n\nd\n$$",
    "after",
    "and",
    "more",
  ]);
});

Deno.test("what would take long to read is as it was written", () => {
  const types = (text: string) => new MarkdownLexer().lex(text).map(({ type }) => type);
  const table = (rows: number) =>
    `|${"a|".repeat(100)}\n|${"-|".repeat(100)}\n${"a\n".repeat(rows)}`;
  assertEquals(types(table(50)), ["table"]);
  assertEquals(types(table(5_000)), ["paragraph"]);
  const [list] = new MarkdownLexer().lex(`- ${"[".repeat(20_000)}\n- *b*`);
  const [long, short] = (list as Tokens.List).items.map(({ tokens: [text] }) =>
    (text as Tokens.Text).tokens!.map(({ type }) => type)
  );
  assertEquals([long, short], [["written"], ["em"]]);
  let depth = 0;
  const quotes = `${"> ".repeat(2_000)}deep\n\nafter`;
  const [outer, , after] = new MarkdownLexer().lex(quotes);
  for (let at: Token | undefined = outer; at?.type === "blockquote"; at = at.tokens?.[0]) depth++;
  assert(depth < 100, `${depth}`);
  assertEquals(after.raw, "after");
  assertEquals(formulas(`\\[\n${"a\n".repeat(10_000)}`), []);
  const nested = Array.from({ length: 500 }, (_, n) => `${" ".repeat(2 * n)}- x${n}`).join("\n");
  const levels = (tokens: Token[] = [], level = 0): number =>
    Math.max(
      level,
      ...tokens.map((it) => {
        const { items, tokens } = it as Tokens.Generic;
        return levels(items ?? tokens, level + (it.type === "list" ? 1 : 0));
      }),
    );
  const deep = levels(new MarkdownLexer().lex(nested));
  assert(deep > 2 && deep < 20, `${deep}`);
});

Deno.test("a note at the foot of a text is shown", () => {
  assertEquals(new MarkdownLexer().lex("[^1]: Smith")[0].type, "paragraph");
});
