import { assertEquals } from "@std/assert";
import { OutputLines } from "./output_lines.ts";

function linesOf(chunks: string[] | Uint8Array[]): string[] {
  const lines: string[] = [];
  const cut = new OutputLines((line) => lines.push(line));
  const encoder = new TextEncoder();
  for (const chunk of chunks) cut.push(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
  cut.close();
  return lines;
}

Deno.test("lines are the same however the output is cut", () => {
  const text = "one\r\n\x1b[31mtwo\x1b[0m ü\n\nlast";
  const bytes = new TextEncoder().encode(text);
  const expected = ["one", "two ü", "", "last"];
  for (let size = 1; size <= bytes.length; size++) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
    assertEquals(linesOf(chunks), expected);
  }
});

Deno.test("a line without end takes no memory without end", () => {
  const [first, second] = linesOf([...Array(1_000).fill("x".repeat(1_000)), "\nnext\n"]);
  assertEquals([first.length, second], [4_096, "next"]);
});
