import { assertEquals } from "@std/assert";
import { LineSplitter } from "./line_splitter.ts";

/** What a splitter passes on; pieces of a line that is too long are joined, in brackets. */
function split(chunks: readonly string[], max: number, delimiter?: number): string[] {
  const out: string[] = [];
  const decoder = new TextDecoder();
  let long = "";
  const splitter = new LineSplitter(max, {
    line: (bytes) => void out.push(decoder.decode(bytes)),
    tooLong: (piece) => void (long += decoder.decode(piece)),
    tooLongEnd() {
      out.push(`[${long}]`);
      long = "";
    },
  }, delimiter);
  const buffer = new Uint8Array(64);
  for (const chunk of chunks) {
    // One buffer for all, as readers reuse theirs.
    splitter.push(buffer.subarray(0, new TextEncoder().encodeInto(chunk, buffer).written));
  }
  splitter.close();
  return out;
}

Deno.test("lines are the same however the bytes are cut, also one that is too long", () => {
  const text = "one\n\ntwelve bytes\nas long as 10\n1234567890\nlast";
  const expected = ["one", "", "[twelve bytes]", "[as long as 10]", "1234567890", "last"];
  for (let size = 1; size <= text.length; size++) {
    const chunks = [];
    for (let at = 0; at < text.length; at += size) chunks.push(text.slice(at, at + size));
    assertEquals(split(chunks, 10), expected);
  }
});

Deno.test("another delimiter ends lines, and a long line without an end is passed on", () => {
  assertEquals(split(["a\nb\0", "c\0"], 10, 0), ["a\nb", "c"]);
  assertEquals(split(["0123456789", "0123456789"], 15), ["[01234567890123456789]"]);
  assertEquals(split(["done\n"], 15), ["done"]);
});
