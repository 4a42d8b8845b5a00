import { assert, assertEquals } from "@std/assert";
import { Blocks } from "./blocks.ts";

const TEXT = `# Title

A paragraph
of two lines.

- one
- two

  still two

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted

last`;

Deno.test("text that grows by any steps has the blocks of the whole", () => {
  const whole = new Blocks().update(TEXT);
  assertEquals(whole.map(({ kind }) => kind), [
    "text",
    "text",
    "text",
    "code",
    "text",
    "text",
    "text",
  ]);
  for (const step of [1, 2, 3, 7, 50]) {
    const blocks = new Blocks();
    for (let end = step; end < TEXT.length; end += step) blocks.update(TEXT.slice(0, end));
    assertEquals(blocks.update(TEXT), whole, `by ${step}`);
  }
});

Deno.test("blocks add up to the text; their beginning stays while it grows", () => {
  const blocks = new Blocks();
  let before: readonly unknown[] = [];
  for (let end = 1; end <= TEXT.length; end++) {
    const now = blocks.update(TEXT.slice(0, end));
    assertEquals(now.map(({ raw }) => raw).join(""), TEXT.slice(0, end));
    const kept = before.slice(0, -2);
    assert(kept.every((block, n) => block === now[n]));
    before = now;
  }
});

Deno.test("a paragraph without end is cut at spaces, a word without end anywhere", () => {
  for (const text of ["word ".repeat(10_000), "x".repeat(50_000)]) {
    const blocks = new Blocks().update(text);
    assert(blocks.length > 4 && blocks.every(({ raw }) => raw.length <= 8_001));
    assertEquals(blocks.map(({ raw }) => raw).join(""), text);
  }
});

Deno.test("a text that became another one is read anew", () => {
  const blocks = new Blocks();
  blocks.update("one\n\ntwo\n\nthree\n\nfour");
  assertEquals(blocks.update("other").map(({ raw }) => raw), ["other"]);
  assertEquals(blocks.update(""), []);
});

Deno.test("quotes and lists without end are one piece", () => {
  for (const text of ["> ".repeat(20_000), "1. ".repeat(20_000)]) {
    assertEquals(new Blocks().update(`${text}a`), [{ kind: "text", raw: `${text}a` }]);
  }
});

Deno.test("a code block is closed once its fence is; one without a fence never is", () => {
  const blocks = new Blocks();
  const closed = (text: string) => {
    const block = blocks.update(text).find(({ kind }) => kind === "code");
    return block?.kind === "code" ? `${block.code} ${block.closed}` : undefined;
  };
  const states = ["```ts", "```ts\na", "```ts\na\n``", "```ts\na\n```", "```ts\na\n```\n\nb"];
  assertEquals(states.map(closed), [" false", "a false", "a\n`` false", "a true", "a true"]);
  assertEquals(closed("    const indented = 1;"), "const indented = 1; false");
});

Deno.test("blocks know the addresses that the text states elsewhere, while it grows too", () => {
  const text = "see [one][1]\n\nnone\n\n[1]: https://one.example\n\n[1]: https://two.example\n";
  const whole = new Blocks().update(text);
  const links = whole.map((it) => it.kind === "text" ? it.links?.["1"]?.href : undefined);
  assertEquals(links.slice(0, 2), ["https://one.example", undefined]);
  const blocks = new Blocks();
  for (let end = 1; end < text.length; end++) blocks.update(text.slice(0, end));
  assertEquals(blocks.update(text), whole);
  const [first] = blocks.update("see [one][1]\n\nnone");
  assertEquals(first, { kind: "text", raw: "see [one][1]\n\n" });
});
