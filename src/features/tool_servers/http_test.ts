import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { boundedFetch } from "./http.ts";
import { RESULT_MAX_BYTES } from "./result.ts";

const ignore = !granted("net");

/** What a server that answers with these chunks is read as. */
async function read(type: string, chunks: string[], init: RequestInit = {}): Promise<string> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    const encoder = new TextEncoder();
    const body = ReadableStream.from(chunks.map((chunk) => encoder.encode(chunk)));
    return new Response(body, { headers: { "content-type": type } });
  });
  try {
    const url = `http://127.0.0.1:${server.addr.port}/`;
    const response = await boundedFetch()(url, init);
    return await response.text();
  } finally {
    await server.shutdown();
  }
}

const half = "x".repeat(RESULT_MAX_BYTES / 2);
const post = { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "m" }) };

Deno.test({
  name: "an answer of 2 MiB is read, a longer one is not",
  ignore,
  async fn() {
    const json = "application/json";
    assertEquals((await read(json, [half, half], post)).length, RESULT_MAX_BYTES);
    await assertRejects(() => read(json, [half, half, "x"], post), SvcError, "larger than 2 MiB");
    await assertRejects(() => read("text/html", [half, half, half], post), SvcError, "2 MiB");
  },
});

Deno.test({
  name: "in a stream it is each event that counts, however lines end",
  ignore,
  async fn() {
    for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
      const events = Array.from({ length: 5 }, () => `data: ${half}${end}`);
      const text = events.join("");
      assertEquals(await read("text/event-stream", events), text, JSON.stringify(end));
    }
    const long = ["data: a\n\n", `data: ${half}`, half, "\n\n"];
    await assertRejects(() => read("text/event-stream", long), SvcError, "larger than 2 MiB");
  },
});

Deno.test({
  name: "an event that is too long for the answer to a request is replaced, and ends the stream",
  ignore,
  async fn() {
    const chunks = ["data: a\n\n", `data: ${half}`, half, "\n\n", "data: never\n\n"];
    const text = await read("text/event-stream; charset=utf-8", chunks, post);
    const events = text.split("\n\n").filter((event) => event !== "");
    assertEquals([events.length, events[0]], [3, "data: a"]);
    const answer = JSON.parse(events[2].slice("data: ".length));
    assertEquals([answer.id, answer.result.isError], [7, true]);
    assertStringIncludes(answer.result.content[0].text, "larger than 2 MiB");
  },
});

Deno.test({
  name: "a stream that is opened again and again is opened five times a second at most",
  ignore,
  async fn() {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("", { headers: { "content-type": "text/event-stream" } }),
    );
    const waits: number[] = [];
    let now = 1_000;
    const pause = (ms: number) => {
      waits.push(ms);
      return Promise.resolve();
    };
    const fetch = boundedFetch({ now: () => now, pause });
    const url = `http://127.0.0.1:${server.addr.port}/`;
    const open = async (method: string) => await (await fetch(url, { method })).text();
    for (let n = 0; n < 4; n++) await open("GET");
    assertEquals(waits, [200, 400, 600]);
    now += 5_000;
    await open("GET");
    await open("POST");
    assertEquals(waits.length, 3);
    await server.shutdown();
  },
});
