import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ShownOutput } from "./shown_output.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** What is shown of an output, whatever the pieces are in which it comes. */
function shown(output: string | Uint8Array): string {
  const data = typeof output === "string" ? bytes(output) : output;
  const all = [1, 3, 64, data.length].map((size) => {
    const kept = new ShownOutput();
    for (let at = 0; at < data.length; at += size) kept.push(data.slice(at, at + size));
    return kept.text();
  });
  assertEquals(all, Array(all.length).fill(all[0]));
  return all[0];
}

Deno.test("an output is what a terminal shows of it at the end", () => {
  const rows: [string, string][] = [
    ["plain\ttext\n", "plain\ttext\n"],
    ["one\r\ntwo\r\n", "one\ntwo\n"],
    ["first\rsecond\nx\n", "second\nx\n"],
    ["longer line\rshort\n", "shortr line\n"],
    ["longer line\r\x1b[Kshort\n", "short\n"],
    ["\x1b[2K\r 10%\x1b[2K\r100%\n", "100%\n"],
    ["a\b\bb|\b/\b-\n", "b-\n"],
    ["\x1b[1;31mred\x1b[0m \x1b]0;a title\x07x\x1b]8;;http://a\x1b\\y\x1b(B\n", "red xy\n"],
    // Two bars, each drawn again one line up.
    ["a 1\nb 1\n\x1b[2Aa 2\n\x1b[1Bc\n", "a 2\nb 1\nc\n"],
    ["a 1\nb 1\x1b[1A\ra 2\x1b[1B\rb 2\n", "a 2\nb 2\n"],
    ["top\n\x1b[2J\x1b[Hnew\n", "new\n"],
    ["before\n\x1b[?1049hin an editor\x1b[?1049lafter\n", "before\nafter\n"],
    ["caf\u00e9 \u{1f642}\n日本\r語\n", "café 🙂\n語本\n"],
    ["abc\x1b[3Gx\x1b[1Gy\x1b[10Gz\n", "ybx      z\n"],
    ["half \x1b[", "half "],
    ["", ""],
  ];
  for (const [output, want] of rows) assertEquals(shown(output), want, JSON.stringify(output));
});

Deno.test("lines before a cleared window stay, and so do many lines", () => {
  const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n}`);
  const kept = new ShownOutput(100_000, 0);
  for (const line of lines) kept.push(bytes(`${line}\n`));
  kept.push(bytes("\x1b[2J\x1b[Hdone\n"));
  const seen = kept.text().trimEnd().split("\n");
  assertEquals(seen.slice(0, 4_900), lines.slice(0, 4_900));
  assertEquals(seen.at(-1), "done");
});

Deno.test("binary output is said and not shown, text around it stays", () => {
  const random = Uint8Array.from(
    { length: 9_000 },
    (_, n) => (n * n * 31 + n * 7 + (n >> 3)) % 256,
  );
  const [start, end] = [bytes("start\n"), bytes("\ndone\n")];
  const kept = new ShownOutput();
  kept.push(Uint8Array.from([...start, ...random, ...end]));
  assertEquals(
    kept.text().replace(/binary output, [\d,]+ bytes/, "binary"),
    "start\n[binary]\ndone\n",
  );
  const only = new ShownOutput();
  only.push(Uint8Array.from(random));
  assertEquals(only.text(), "[binary output, 9,000 bytes]\n");
  const zeros = new ShownOutput();
  for (let n = 0; n < 100; n++) zeros.push(new Uint8Array(10_000));
  assertEquals(zeros.text(), "[binary output, 1,000,000 bytes]\n");
});

Deno.test("text in older encodings, and with zeros between names, is text", () => {
  const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
  const once = (data: Uint8Array) => {
    const kept = new ShownOutput();
    kept.push(data);
    return kept.text();
  };
  assertEquals(once(latin1("Größe: ü\nweiter\n")), "Größe: ü\nweiter\n");
  assertEquals(once(latin1("ERROR: \x83G\x83\x89\x81[\n")), "ERROR: エラー\n");
  assertEquals(once(bytes("a.txt\0b.txt\0")), "a.txtb.txt");
});

Deno.test("of what is left out, lines that name an error are shown", () => {
  const kept = new ShownOutput(200, 200);
  const noise = "compiling something that says nothing\n".repeat(400);
  kept.push(bytes(noise));
  kept.push(bytes("src/parse.c:118: error: 'frobnicate' undeclared\n"));
  kept.push(bytes(`${noise}the end\n`));
  const text = kept.text();
  assert(kept.truncated);
  assertStringIncludes(
    text,
    " bytes left out …]\n[lines in them that name an error:]\nsrc/parse.c:118",
  );
  assert(text.endsWith("the end\n") && text.length < 1_000, text);
});

Deno.test("a line of ten megabytes is kept in parts", () => {
  const kept = new ShownOutput();
  const piece = bytes("x".repeat(65_536));
  for (let n = 0; n < 160; n++) kept.push(piece);
  kept.push(bytes("end\n"));
  assert(kept.text().length < 40_000);
  assert(kept.text().endsWith("xend\n"));
});
