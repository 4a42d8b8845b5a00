import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { granted } from "../../../tests/support/permissions.ts";
import { CatalogueFile } from "../../models/catalogue_file.ts";
import { CATALOGUE } from "./config.ts";
import { CatalogueDownload } from "./download.ts";
import { fromModelsDev } from "./models_dev.ts";

const ignore = !granted("read", "write", "net");
const DAY_MS = 24 * 3_600_000;

/** As models.dev writes it; the second model has another format, the third writes no text. */
const API = {
  openai: {
    id: "openai",
    name: "OpenAI",
    env: ["OPENAI_API_KEY"],
    models: {
      "gpt-9": {
        id: "gpt-9",
        name: "GPT-9",
        attachment: true,
        reasoning: true,
        tool_call: true,
        modalities: { input: ["text", "image", "pdf"], output: ["text"] },
        cost: {
          input: 2,
          output: 8,
          cache_read: 0.5,
          context_over_200k: { input: 4, output: 16 },
        },
        limit: { context: 500_000, output: 64_000 },
      },
      "gpt-odd": { limit: { context: "many" } },
      "gpt-image": { modalities: { input: ["text"], output: ["image"] } },
      "gpt-plan": { reasoning: false, cost: { input: 0, output: 0 }, limit: { context: 9_000 } },
    },
  },
  unheard: { models: { x: { limit: { context: 5 } } } },
};

Deno.test("the format of models.dev: what svc knows of it, and no price of 0", () => {
  const { providers } = fromModelsDev(API, "https://models.dev/api.json", "2026-11-24");
  assertEquals(providers, {
    openai: {
      "gpt-9": {
        context_tokens: 500_000,
        output_tokens: 64_000,
        images: true,
        price: {
          input: 2,
          output: 8,
          cache_read: 0.5,
          cache_write: 2,
          long: { over: 200_000, input: 4, output: 16, cache_read: 4, cache_write: 4 },
        },
      },
      "gpt-plan": { context_tokens: 9_000, efforts: [] },
    },
  });
});

Deno.test("the address of a catalogue is one that nobody on the way can change", () => {
  const valid = (url: string) => CATALOGUE.schema().safeParse({ url }).success;
  for (const url of ["https://models.dev/api.json", "http://127.0.0.1:8000/a", "http://[::1]/a"]) {
    assert(valid(url), url);
  }
  for (const url of ["http://models.dev/api.json", "http://127.0.0.1.example/", "file:///x", "x"]) {
    assert(!valid(url), url);
  }
});

Deno.test({
  name: "a catalogue is downloaded once a day, and a bad one never replaces a good one",
  ignore,
  async fn() {
    const dir = await Deno.makeTempDir();
    let answer = () => Response.json(API);
    let asked = 0;
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
      asked++;
      return answer();
    });
    const warned: string[] = [];
    const path = join(dir, "catalogue.json");
    let url: string | undefined;
    const download = new CatalogueDownload({
      path,
      url: () => url,
      warn: (_, { error }) => void warned.push(String(error)),
    });
    const idle = async (count: number) => {
      while (asked < count) await delay(5);
      await download.settled();
    };
    try {
      download.begin();
      await download.settled();
      assertEquals(asked, 0, "without an address nothing is asked");
      url = `http://127.0.0.1:${server.addr.port}/api.json`;
      const day = (n: number) => Date.now() + n * DAY_MS;
      download.begin();
      download.begin();
      await idle(1);
      download.begin();
      await download.settled();
      assertEquals([asked, warned], [1, []]);
      if (Deno.build.os !== "windows") assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
      const file = new CatalogueFile(path);
      assertEquals((await file.get()).facts("openai/gpt-9")?.context_tokens, 500_000);
      const good = Deno.readTextFileSync(path);
      const huge = () => {
        const chunk = new Uint8Array(1024 * 1024).fill(32);
        let sent = 0;
        return new Response(
          new ReadableStream({
            pull: (to) => sent++ < 40 ? to.enqueue(chunk) : to.close(),
          }),
        );
      };
      const bad: [() => Response, string][] = [
        [() => new Response("gone", { status: 404 }), "answered 404"],
        [() => new Response(null, { status: 302, headers: { location: "/" } }), "new address"],
        [() => new Response("<html>"), "JSON"],
        [() => Response.json({ unheard: API.unheard }), "no model of a known provider"],
        [() => Response.json([]), "must be an object, not a list"],
        [huge, "more than 33554432 bytes"],
      ];
      for (const [n, [make, problem]] of bad.entries()) {
        answer = make;
        download.begin(day(2 * (n + 1)));
        await idle(n + 2);
        assert(warned.at(-1)?.includes(problem), `${warned.at(-1)} instead of ${problem}`);
        assertEquals(Deno.readTextFileSync(path), good);
        download.begin(day(2 * (n + 1)) + 1_000);
        assertEquals(asked, n + 2, "a failure is not repeated before the next day");
      }
      assertEquals([...Deno.readDirSync(dir)].map(({ name }) => name), ["catalogue.json"]);
      // Another daemon that starts today leaves the fresh file alone.
      new CatalogueDownload({ path, url: () => url, warn() {} }).begin();
      assertEquals(asked, bad.length + 1);
    } finally {
      await download.stop();
      await server.shutdown();
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "a stop ends a download that hangs",
  ignore,
  async fn() {
    const dir = await Deno.makeTempDir();
    const asked = Promise.withResolvers<void>();
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
      asked.resolve();
      return new Response(new ReadableStream({ start: (to) => to.enqueue(new Uint8Array([123])) }));
    });
    const warned: unknown[] = [];
    const download = new CatalogueDownload({
      path: join(dir, "catalogue.json"),
      url: () => `http://127.0.0.1:${server.addr.port}/`,
      warn: (...args) => void warned.push(args),
    });
    try {
      download.begin();
      await asked.promise;
      await download.stop();
      download.begin();
      assertEquals([warned, [...Deno.readDirSync(dir)]], [[], []]);
    } finally {
      await server.shutdown();
      await Deno.remove(dir, { recursive: true });
    }
  },
});
