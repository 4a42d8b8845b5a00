import { assertEquals } from "@std/assert";
import { getDefaults, Lexer, Marked, type MarkedOptions } from "marked";
import { MarkdownTokenizer } from "./markdown_tokenizer.ts";

const marked = new Marked();
const plain = getDefaults();
const ours = { ...plain, tokenizer: new MarkdownTokenizer() };

function shown(text: string, by: MarkedOptions = ours): string {
  return marked.parser(Lexer.lex(text, by)).trim().replace(/^<p>|<\/p>$/g, "");
}

Deno.test("one tilde is text, two delete", () => {
  // The control: what is amended does take them.
  assertEquals(shown("10~20 and 30~40", plain), "10<del>20 and 30</del>40");
  for (
    const text of [
      "10~20 and 30~40",
      "5~7U 保证金，100~200倍",
      "~1,~2",
      "(~$1.50) or (~$2)",
      "~/a and ~/b",
      "between ~1.34 and ~5.4",
      "~old~",
    ]
  ) assertEquals(shown(text), text);
  assertEquals(shown("~~25~30~~ and ~~b~~"), "<del>25~30</del> and <del>b</del>");
  assertEquals(shown("~~~\n1~2 3~4\n~~~"), "<pre><code>1~2 3~4\n</code></pre>");
  assertEquals(shown("\\~x\\~ and `~y~`"), "~x~ and <code>~y~</code>");
});

Deno.test("bold text ends beside punctuation where words have no blanks between them", () => {
  assertEquals(shown("**内容。**后续", plain), "**内容。**后续");
  for (
    const [text, html] of [
      ["**内容。**后续", "<strong>内容。</strong>后续"],
      ["**Markdown（マークダウン）**は軽量", "<strong>Markdown（マークダウン）</strong>は軽量"],
      ["これは**「強調」**です", "これは<strong>「強調」</strong>です"],
      ["**`npm`。**然后", "<strong><code>npm</code>。</strong>然后"],
      [
        "먼저 **설치(필수)**를 하고 **실행**",
        "먼저 <strong>설치(필수)</strong>를 하고 <strong>실행</strong>",
      ],
      ["**中文** 和 **English**", "<strong>中文</strong> 和 <strong>English</strong>"],
    ]
  ) assertEquals(shown(text), html);
  // Elsewhere it is what CommonMark says.
  for (
    const text of [
      "**a.**b",
      "2 ** 3 和 4 ** 5",
      "**一\n二",
      "`**内容。**后续`",
      "\\*\\*内容。\\*\\*后",
      "***全部***",
      "**a *b* c**",
    ]
  ) assertEquals(shown(text), shown(text, plain), text);
});

Deno.test("an address ends where the sentence around it goes on", () => {
  const link = (url: string, rest = "") => `<a href="${url}">${url}</a>${rest}`;
  assertEquals(shown("https://a.test/x。谢谢", plain).includes(link("https://a.test/x")), false);
  assertEquals(shown("https://a.test/x。谢谢"), link("https://a.test/x", "。谢谢"));
  assertEquals(
    shown("见 https://a.test/x（说明）。"),
    `见 ${link("https://a.test/x", "（说明）。")}`,
  );
  assertEquals(shown("“https://a.test/x”, said"), `“${link("https://a.test/x", "”, said")}`);
  assertEquals(
    shown("https://a.test/a，https://a.test/b、c"),
    [
      link("https://a.test/a", "，"),
      link("https://a.test/b", "、c"),
    ].join(""),
  );
  for (
    const text of [
      "https://a.test/x(y), z",
      "see www.a.test/b.",
      "https://a.test/苹果",
      "me@a.test, you",
      "[文档](https://a.test/x。y)",
      "<https://a.test/x。y>",
      "a.test and http:// and nothing",
    ]
  ) assertEquals(shown(text), shown(text, plain), text);
});
