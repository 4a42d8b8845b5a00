import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { granted } from "../../../../../tests/support/permissions.ts";
import { Extractor } from "./extract.ts";

const ignore = !granted("read", "env") || Deno.build.os !== "linux";
const { signal } = new AbortController();
const URL = "https://birds.example/";

function page(n: number): string {
  const text = `Heron ${n} stands still in the river for hours and waits for a fish. `.repeat(9);
  return `<title>Heron ${n}</title><article><p>${text}</p><p>${text}</p></article>`;
}

/** Counts the workers that are started, until it is disposed. */
function countWorkers(): { made: number } & Disposable {
  const { Worker: Real } = globalThis;
  const count = { made: 0, [Symbol.dispose]: () => void (globalThis.Worker = Real) };
  globalThis.Worker = class extends Real {
    constructor(...args: ConstructorParameters<typeof Real>) {
      super(...args);
      count.made++;
    }
  };
  return count;
}

Deno.test({
  name: "the pages of tasks share workers until the last task has ended",
  ignore,
  async fn() {
    const extractor = new Extractor();
    const first = extractor.begin();
    const second = extractor.begin();
    await extractor.extract(page(0), URL, signal);
    using workers = countWorkers();
    for (let n = 1; n <= 5; n++) {
      const { title, text } = await extractor.extract(page(n), URL, signal);
      assertEquals(title, `Heron ${n}`);
      assertStringIncludes(text, `Heron ${n} stands`);
      if (n === 3) first[Symbol.dispose]();
    }
    assertEquals(workers.made, 0);
    second[Symbol.dispose]();
  },
});

Deno.test({
  name: "a page that is given up takes its worker with it",
  ignore,
  async fn() {
    const extractor = new Extractor();
    using _workers = extractor.begin();
    const given_up = new AbortController();
    const read = extractor.extract(page(1), URL, given_up.signal);
    queueMicrotask(() => given_up.abort(new Error("enough")));
    const error = await read.catch((reason) => reason);
    assert(error instanceof Error);
    assertEquals(error.message, "enough");
    assertEquals((await extractor.extract(page(2), URL, signal)).title, "Heron 2");
  },
});
