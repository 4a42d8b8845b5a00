import { assertEquals, assertRejects } from "@std/assert";
import { type Model, ModelError } from "../models/model.ts";
import { UnknownModel } from "../models/registry.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Session } from "../session/session.ts";
import { failsForGood, Fallbacks } from "./fallback.ts";

const broken = new ModelError("broken", { retryable: true, status: 503 });

/** A session of some trust, with the notes that it was given. */
function begin(own: string, trust: string, fallback: string[], missing: string[] = []) {
  const told: string[] = [];
  const state = { model: own, trust };
  const session = {
    state,
    emit: (_: string, { fallback }: { fallback: string }) => {
      told.push(fallback);
      return Promise.resolve();
    },
  } as unknown as Session;
  const model = (id: string): Promise<Model> =>
    missing.includes(id)
      ? Promise.reject(new UnknownModel(`${id} has no API key`))
      : Promise.resolve({ id } as Model);
  const parts = { model, fallback: () => fallback };
  return { state, told, models: (at?: string) => new Fallbacks(parts, session, at) };
}

Deno.test("what fails for good: no access, no model, too long a wait; not what is wrong anywhere", () => {
  const of = (status: number | undefined, more = {}) =>
    failsForGood(new ModelError("m", { retryable: false, status, ...more }));
  for (const status of [401, 402, 403, 404, 429, 500, 529]) assertEquals(of(status), true);
  for (const status of [undefined, 400, 413, 422]) assertEquals(of(status), false);
  assertEquals(of(undefined, { retryable: true }), true);
  assertEquals(of(403, { filtered: true }), false);
  assertEquals(of(500, { too_long: {} }), false);
  assertEquals(failsForGood(new UnknownModel("no key")), true);
  assertEquals(failsForGood(new SvcError("validation", "of a tool")), false);
  assertEquals(failsForGood(new DOMException("stop", "AbortError")), false);
});

Deno.test("each model is asked once a turn, in order, without the session's own", async () => {
  const { told, models } = begin("a/a", "trusted", ["a/a", "b/b", "c/c", "d/d"], ["b/b"]);
  const turn = models();
  assertEquals((await turn.model()).id, "a/a");
  assertEquals((await turn.after(broken))?.id, "c/c");
  assertEquals((await turn.model()).id, "c/c");
  assertEquals((await turn.after(broken))?.id, "d/d");
  assertEquals(await turn.after(broken), undefined);
  assertEquals(told, ["c/c", "d/d"]);
});

Deno.test("a turn that goes on is where it was; a model that is no longer listed has no successor", async () => {
  const { models } = begin("a/a", "trusted", ["b/b", "c/c"]);
  assertEquals((await models("b/b").model()).id, "b/b");
  assertEquals((await models("b/b").after(broken))?.id, "c/c");
  assertEquals(await models("x/x").after(broken), undefined);
});

Deno.test("when no model is left, the one counts whose limit ends first and is worth waiting for", async () => {
  const limited = (message: string, retry_after_ms?: number) =>
    new ModelError(message, { retryable: true, status: 429, limited: true, retry_after_ms });
  const failing = async (...failures: unknown[]) => {
    const turn = begin("a/a", "trusted", ["b/b", "c/c"]).models();
    for (const failure of failures) await turn.after(failure);
    const found = turn.soonest(failures.at(-1), 60_000);
    return found === failures.at(-1) ? "the last" : found instanceof ModelError && found.message;
  };
  assertEquals(await failing(limited("own", 9_000_000), limited("two", 8_000_000), broken), "two");
  assertEquals(await failing(limited("own", 9_000_000), limited("two", 5_000)), "own");
  assertEquals(await failing(broken, limited("two"), broken), "the last");
  const { models } = begin("a/a", "trusted", []);
  const turn = models();
  const failure = limited("own", 9_000_000);
  await turn.after(failure);
  assertEquals(turn.soonest(failure), failure, "a turn that may not be parked");
});

Deno.test("another choice of the person begins anew", async () => {
  const { state, models } = begin("a/a", "trusted", ["b/b"]);
  const turn = models("b/b");
  state.model = "e/e";
  assertEquals([turn.changed, (await turn.model()).id, turn.away], [true, "e/e", false]);
  assertEquals((await turn.after(broken))?.id, "b/b");
});

Deno.test("work for others, and the embedded language, stay with their model", async () => {
  for (const [own, trust] of [["a/a", "untrusted"], ["builtin/toolbelt", "trusted"]]) {
    const { models, told } = begin(own, trust, ["b/b"]);
    assertEquals([await models().after(broken), told], [undefined, []]);
  }
  const { models } = begin("a/a", "untrusted", ["b/b"], ["a/a"]);
  await assertRejects(() => models().model(), UnknownModel);
});
