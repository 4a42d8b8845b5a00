import { assertEquals, assertRejects } from "@std/assert";
import { chunkOf, chunksOf, LAST_CHUNK } from "./chunks.ts";
import { Incoming } from "./incoming.ts";

/** A connection with so many bytes at a time. */
function incoming(text: string, step: number): Incoming {
  let left = new TextEncoder().encode(text);
  const read = (into: Uint8Array) => {
    if (left.length === 0) return Promise.resolve(null);
    const count = Math.min(step, into.length, left.length);
    into.set(left.subarray(0, count));
    left = left.slice(count);
    return Promise.resolve(count);
  };
  return new Incoming({ read } as unknown as Deno.Conn);
}

async function contentOf(text: string, step = 3): Promise<string> {
  const pieces = await Array.fromAsync(chunksOf(incoming(text, step)), (piece) => piece.slice());
  return await new Blob(pieces).text();
}

Deno.test("chunks are read however they arrive, and written so that they can be read", async () => {
  for (const step of [1, 2, 7, 100]) {
    assertEquals(
      await contentOf("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", step),
      "abc0123456789",
    );
  }
  assertEquals(await contentOf("0\r\n\r\n"), "");
  const parts = [chunkOf(new TextEncoder().encode("x".repeat(300))), LAST_CHUNK];
  const written = parts.map((part) => new TextDecoder().decode(part)).join("");
  assertEquals(await contentOf(written), "x".repeat(300));
});

Deno.test("what one reader could take for another end of the content is refused", async () => {
  for (
    const text of [
      "3\nabc\n0\n\n",
      "3;a=b\r\nabc\r\n0\r\n\r\n",
      " 3\r\nabc\r\n0\r\n\r\n",
      "+3\r\nabc\r\n0\r\n\r\n",
      "0x3\r\nabc\r\n0\r\n\r\n",
      "\r\nabc",
      "3\r\nabcd\r\n0\r\n\r\n",
      "ffffffffffffffff\r\na",
      "0\r\nTrailer: a\r\n\r\n",
      "3\r\nab",
      "3",
      "1".repeat(100),
    ]
  ) await assertRejects(() => contentOf(text), Error, "", text);
});
