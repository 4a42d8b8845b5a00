import { assertEquals } from "@std/assert";
import { OutputRing } from "./output_ring.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("each reader has its own place, and gets all that is kept once", () => {
  const ring = new OutputRing(10);
  ring.push(bytes("abc"));
  assertEquals(ring.read(0, 100, false), { text: "abc", next: 3, dropped: 0, left: 0 });
  ring.push(bytes("def"));
  assertEquals(ring.read(3, 2, false), { text: "de", next: 5, dropped: 0, left: 1 });
  assertEquals(ring.read(0, 100, false).text, "abcdef");
  ring.push(bytes("ghijklmn"));
  assertEquals(ring.read(5, 100, false), {
    text: "fghijklmn",
    next: 14,
    dropped: 0,
    left: 0,
  });
  assertEquals(ring.read(0, 100, false).text, "[… 4 bytes were dropped …]\nefghijklmn");
  assertEquals(ring.read(14, 100, true), { text: "", next: 14, dropped: 0, left: 0 });
  // A place behind the end is the end.
  assertEquals(ring.read(99, 100, true).next, 14);
});

Deno.test("a flood leaves its end, in a fixed amount of memory", () => {
  const ring = new OutputRing(1024);
  for (let n = 0; n < 10_000; n++) ring.push(bytes(`line ${n}\n`));
  ring.push(bytes("x".repeat(5000) + "the end"));
  const { text, dropped } = ring.read(0, 4096, true);
  assertEquals(dropped, ring.total - 1024);
  assertEquals(text.endsWith("xxthe end"), true);
  assertEquals(text.length, 1024 + text.indexOf("\n") + 1);
});

Deno.test("random pushes and reads give back the whole stream", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  const ring = new OutputRing(97);
  let all = "";
  let read = "";
  let next = 0;
  for (let n = 0; n < 5_000; n++) {
    const chunk = Array.from({ length: random(40) }, () => "abcdefghij"[random(10)]).join("");
    ring.push(bytes(chunk));
    all += chunk;
    while (ring.total - next > 50) {
      const piece = ring.read(next, 1 + random(30), false);
      read += piece.text;
      next = piece.next;
    }
  }
  assertEquals(read + ring.read(next, 200, true).text, all);
});

Deno.test("characters and escape sequences are not cut in two between reads", () => {
  const ring = new OutputRing(100);
  const whole = bytes("a€\x1b[31mred\x1b[0m!");
  let text = "";
  let next = 0;
  for (const byte of whole) {
    ring.push(Uint8Array.of(byte));
    const piece = ring.read(next, 100, false);
    text += piece.text;
    next = piece.next;
  }
  assertEquals(text, "a€red!");
  // What never becomes complete is not waited for when nothing follows.
  ring.push(bytes("\x1b[31"));
  assertEquals(ring.read(next, 100, false).text, "");
  assertEquals(ring.read(next, 100, true).next, ring.total);
});

Deno.test("a reader gets on through bytes that are no text", () => {
  const ring = new OutputRing(4096);
  ring.push(new Uint8Array(600).fill(0x1b));
  ring.push(new Uint8Array(600).fill(0xe2));
  let next = 0;
  for (let reads = 0; next < ring.total; reads++) {
    const piece = ring.read(next, 64, true);
    if (piece.next === next || reads > 100) throw new Error(`stuck at ${next}`);
    next = piece.next;
  }
});
