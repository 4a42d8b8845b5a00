import { assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { type Line, readLines } from "./lines.ts";

const ignore = !granted("read", "write");
const encoder = new TextEncoder();

async function read(path: string, from: number, to: number): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of readLines(path, from, to)) lines.push(line);
  return lines;
}

Deno.test({
  name: "lines come whole, with their bytes' places, whatever their length and characters",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("lines");
    const texts = [
      "",
      "a",
      "é",
      "\u{1F600}",
      "x".repeat(300_000),
      "",
      "\ufeffb",
      "ü".repeat(140_000),
    ];
    for (let n = 0; n < 4_000; n++) texts.push(n % 3 === 0 ? `zeile ${n} ß` : `line ${n}`);
    for (const last of ["", "torn ö"]) {
      const bytes = encoder.encode(texts.map((it) => `${it}\n`).join("") + last);
      Deno.writeFileSync(path, bytes);
      const expected: Line[] = [];
      let offset = 0;
      for (const text of texts) {
        const end = offset + encoder.encode(text).length + 1;
        expected.push({ line: text.replace(/^\ufeff/, ""), offset, end, whole: true });
        offset = end;
      }
      if (last !== "") {
        expected.push({ line: last, offset, end: bytes.length, whole: false });
      }
      const found = await read(path, 0, bytes.length);
      // A mark of the byte order is no character of a file's beginning here.
      assertEquals(found.map((it) => ({ ...it, line: it.line.replace(/^\ufeff/, "") })), expected);
      const middle = expected[10];
      assertEquals((await read(path, middle.offset, bytes.length))[0], middle);
      assertEquals(await read(path, middle.offset, middle.end), [middle]);
      assertEquals(await read(path, bytes.length, bytes.length), []);
    }
  },
});
