import { assert, assertEquals, assertRejects } from "@std/assert";
import { SvcError } from "../protocol/errors.ts";
import { bodyText } from "./answers.ts";

/** A request whose body comes in these chunks and, unless told, ends. */
function request(chunks: Uint8Array<ArrayBuffer>[], { ends = true } = {}) {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      if (ends) controller.close();
    },
    cancel: () => void (cancelled = true),
  });
  return {
    request: new Request("http://127.0.0.1/", { method: "POST", body }),
    cancelled: () => cancelled,
  };
}

Deno.test("a body is read to its end, wherever its characters are broken", async () => {
  const bytes = new TextEncoder().encode('{"name": "Grüße, 鷺"}');
  const chunks = [...bytes].map((byte) => Uint8Array.of(byte));
  assertEquals(await bodyText(request(chunks).request, 100), '{"name": "Grüße, 鷺"}');
  assertEquals(await bodyText(request([]).request, 100), "");
});

Deno.test("a body that is too large, or no UTF-8, is refused", async () => {
  const large = request([new Uint8Array(60), new Uint8Array(60)], { ends: false });
  await assertRejects(() => bodyText(large.request, 100), SvcError, "larger than 100 bytes");
  assert(large.cancelled());
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]]) {
    const { request: bad } = request([Uint8Array.from(bytes)]);
    await assertRejects(() => bodyText(bad, 100), SvcError, "not valid UTF-8");
  }
});

Deno.test("a body that does not come to its end is given up", async () => {
  const slow = request([Uint8Array.of(0x7b)], { ends: false });
  await assertRejects(
    () => bodyText(slow.request, 100, 20),
    SvcError,
    "was not received within 0.02 s",
  );
  assert(slow.cancelled());
});
