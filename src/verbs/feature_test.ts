import { assertEquals, assertThrows } from "@std/assert";
import * as z from "zod";
import { verbsOf } from "./define.ts";
import { feature, givenOf, OpenFeatures, startOption } from "./feature.ts";
import type { Host } from "./host.ts";

const HOST = {} as Host;

const verb = verbsOf<{ count(): number }>()({
  name: "thing.count",
  summary: "Counts things.",
  access: "read",
  input: () => z.object({}),
  output: () => z.object({ count: z.int() }),
  handle: ({ services }) => ({ count: services.count() }),
});

const first = feature({
  name: "first",
  verbs: [verb],
  open: () => ({ services: { count: () => 3 }, hides: () => ["a", "b"] }),
});
const second = feature({
  name: "second",
  open(host) {
    const { count } = host.use(first);
    return { services: {}, hides: (workdir) => [`${workdir} ${count()}`] };
  },
});

Deno.test("verbs get what their own feature opened, and features those before them", () => {
  const features = new OpenFeatures([first, second], HOST);
  const [bound] = features.all.flatMap(({ bound }) => bound);
  const call = { signal: new AbortController().signal };
  assertEquals(bound.handle({}, { via: "socket" }, call), { count: 3 });
  assertEquals(features.each("hides", "/w"), [["a", "b"], ["/w 3"]]);
  assertEquals(features.each("onRest"), []);
  assertThrows(() => new OpenFeatures([second, first], HOST), Error, "first must stand earlier");
});

Deno.test("a feature that does not open what its verbs need is not compiled", () => {
  // @ts-expect-error -- it opens no count
  feature({ name: "wrong", verbs: [verb], open: () => ({ services: {} }) });
});

Deno.test("an option of the command line is found by what defined it", () => {
  const [one, other, none] = [startOption<number>(), startOption<string>(), startOption<number>()];
  const given = [one(1), other("two")];
  assertEquals([givenOf(given, one), givenOf(given, other), givenOf(given, none)], [
    1,
    "two",
    undefined,
  ]);
});
