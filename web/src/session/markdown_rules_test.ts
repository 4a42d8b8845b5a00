import { assertEquals } from "@std/assert";
import { Lexer, type Token } from "marked";
import { Blocks } from "./blocks.ts";
import { type FormulaToken, MARKDOWN } from "./markdown_rules.ts";

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
  look(new Lexer(MARKDOWN).lex(text));
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
