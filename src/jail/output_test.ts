import { assert, assertEquals } from "@std/assert";
import { BoundedOutput, grouped } from "./output.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("output that fits is kept whole, however it is chunked", () => {
  const text = "déjà vu → 日本語 🙂\n".repeat(20);
  for (const size of [1, 2, 3, 5, 7, 64, 10_000]) {
    const output = new BoundedOutput(300, 400);
    pushInPieces(output, bytes(text), size);
    assertEquals(output.text(), text, `in pieces of ${size}`);
    assertEquals(output.truncated, false);
    assertEquals(output.total, bytes(text).length);
  }
});

Deno.test("a long output keeps its beginning and its end, and says how much is missing", () => {
  const output = new BoundedOutput(4, 4);
  output.push(bytes("beginning and end"));
  assertEquals(output.text(), "begi\n[… 9 bytes left out …]\n end");
  assert(output.truncated);
});

Deno.test("the end is right for every chunk size and wherever the ring starts", () => {
  const text = Array.from({ length: 500 }, (_, i) => `line ${i}\n`).join("");
  for (const size of [1, 3, 13, 39, 40, 41, 79, 80, 81, 1000, text.length]) {
    const output = new BoundedOutput(20, 40);
    pushInPieces(output, bytes(text), size);
    const note = `[… ${grouped(text.length - 60)} bytes left out …]`;
    assertEquals(output.text(), `${text.slice(0, 20)}\n${note}\n${text.slice(-40)}`, `${size}`);
  }
});

Deno.test("no character is broken where the middle was cut out", () => {
  for (let head = 20; head < 24; head++) {
    for (let tail = 20; tail < 24; tail++) {
      const output = new BoundedOutput(head, tail);
      output.push(bytes("🙂".repeat(100)));
      const text = output.text();
      assert(!text.includes("\ufffd"), text);
      assertEquals(text, `🙂🙂🙂🙂🙂\n[… 360 bytes left out …]\n🙂🙂🙂🙂🙂`);
    }
  }
});

Deno.test("bytes that are no text show as replacement characters, not as an error", () => {
  const output = new BoundedOutput();
  output.push(new Uint8Array([0x61, 0xff, 0xfe, 0x62, 0xe2, 0x82]));
  assertEquals(output.text(), "a\ufffd\ufffdb\ufffd");
});

Deno.test("terminal escapes and control characters are left out of the text", () => {
  const output = new BoundedOutput();
  output.push(
    bytes("\x1b[1;31mred\x1b[0m \x1b]0;a title with spaces\x07x\x1b]8;;http://a\x1b\\y\x1b(B"),
  );
  output.push(bytes("\x1b[?25l\x1b7\x1b=z\0\x07\ttab\r\nend\x1b["));
  assertEquals(output.text(), "red xyz\ttab\r\nend[");
});

Deno.test("a head or a tail of nothing is fine", () => {
  const ends = new BoundedOutput(0, 3);
  pushInPieces(ends, bytes("abcdef"), 2);
  assertEquals(ends.text(), "\n[… 3 bytes left out …]\ndef");
  const starts = new BoundedOutput(3, 0);
  pushInPieces(starts, bytes("abcdef"), 2);
  assertEquals(starts.text(), "abc\n[… 3 bytes left out …]\n");
});

Deno.test("numbers are set apart by thousands", () => {
  assertEquals([0, 999, 1000, 4_935_712].map(grouped), ["0", "999", "1,000", "4,935,712"]);
});

function pushInPieces(output: BoundedOutput, data: Uint8Array, size: number): void {
  const reused = new Uint8Array(size);
  for (let at = 0; at < data.length; at += size) {
    const piece = data.subarray(at, at + size);
    reused.set(piece);
    output.push(reused.subarray(0, piece.length));
  }
}
