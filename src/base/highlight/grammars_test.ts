import { assert, assertEquals, assertThrows } from "@std/assert";
import { tokensOf } from "./grammars.ts";
import { languageOf, languageOfPath } from "./languages.ts";
import { linesOf, type Token } from "./tokens.ts";

const marked = (tokens: readonly Token[]) =>
  tokens.map(({ text, tone }) => tone === undefined ? text : `<${tone} ${text}>`).join("");

Deno.test("code becomes tokens that are its text", () => {
  const code = 'const a = `x${1 + b}`; // "why"\n';
  const tokens = tokensOf(code, "ts");
  assertEquals(tokens.map(({ text }) => text).join(""), code);
  assertEquals(
    marked(tokens),
    '<keyword const> a = <string `x>${<number 1> + b}<string `>; <comment // "why">\n',
  );
});

Deno.test("markup is text, and code inside it has its own colours", () => {
  const code = "<script>alert('1')</script><b onclick=x>";
  const tokens = tokensOf(code, "html");
  assertEquals(tokens.map(({ text }) => text).join(""), code);
  assert(tokens.some(({ text, tone }) => text === "'1'" && tone === "string"));
});

Deno.test("every language that is known by a name has a grammar", () => {
  const names = "bash sh zsh shell c h cpp c++ cc cxx hpp hh cs csharp css diff patch dockerfile " +
    "docker go golang ini toml java js javascript jsx mjs cjs json jsonc md markdown py " +
    "python rb ruby rs rust sql ts typescript tsx mts cts xml html xhtml svg yaml yml";
  for (const name of names.split(" ")) {
    assertEquals(languageOf(name.toUpperCase()), name);
    assertEquals(tokensOf("x", name).length, 1, name);
  }
  assertThrows(() => tokensOf("x", "brainfuck"));
});

Deno.test("a file's language is told by the end of its path", () => {
  const paths = ["/a/b.ts", "Dockerfile", "/x.d/LICENSE", "a.tar.gz", "py", "C.PY", ""];
  assertEquals(paths.map(languageOfPath), [
    "ts",
    "dockerfile",
    undefined,
    undefined,
    "py",
    "py",
    undefined,
  ]);
});

Deno.test("tokens are told apart line by line", () => {
  const lines = linesOf([
    { text: "a", tone: "keyword" },
    { text: " =\n\n" },
    { text: "`b\nc`", tone: "string" },
    { text: "\n" },
  ]);
  assertEquals(lines.map(marked), ["<keyword a> =", "", "<string `b>", "<string c`>", ""]);
});
