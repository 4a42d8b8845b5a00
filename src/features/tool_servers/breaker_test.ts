import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { SvcError } from "../../protocol/errors.ts";
import { Breaker, type Verdict } from "./breaker.ts";

const failed = { error: (): Verdict => "failed", success: "well" as Verdict };

function setUp() {
  const clock = new FakeClock();
  let opened = 0;
  const breaker = new Breaker(clock, () => opened++);
  let made = 0;
  const attempt = async (ok: boolean): Promise<"made" | "refused"> => {
    const before = made;
    await breaker.attempt(() => {
      made++;
      return ok ? Promise.resolve() : Promise.reject(new Error("no"));
    }, failed).catch(() => {});
    return made > before ? "made" : "refused";
  };
  const fail = async (times: number) => {
    for (let n = 0; n < times; n++) await attempt(false);
  };
  return { clock, breaker, attempt, fail, opened: () => opened };
}

Deno.test("five failures in a row open it; four and a success do not", async () => {
  const { breaker, attempt, fail } = setUp();
  await fail(4);
  await attempt(true);
  await fail(4);
  assertEquals(breaker.state, "closed");
  await fail(1);
  assertEquals(breaker.state, "open");
  assertEquals(await attempt(true), "refused");
});

Deno.test("while it is open it tells when it lets a probe through", async () => {
  const { clock, breaker, fail } = setUp();
  assertEquals(breaker.retry_at, undefined);
  await fail(5);
  assertEquals(breaker.retry_at, new Date(clock.now() + 10_000).toISOString());
  await clock.advance(10_000);
  assertEquals([breaker.state, breaker.retry_at], ["half_open", undefined]);
});

Deno.test("it stays open for 10 s, doubling to 5 min with each probe that fails", async () => {
  const { clock, breaker, attempt, fail, opened } = setUp();
  await fail(5);
  for (const s of [10, 20, 40, 80, 160, 300, 300]) {
    await clock.advance(s * 1000 - 1);
    assertEquals([breaker.state, await attempt(false)], ["open", "refused"], `${s} s`);
    await clock.advance(1);
    assertEquals([breaker.state, await attempt(false)], ["half_open", "made"], `${s} s`);
  }
  assertEquals(opened(), 8);
  await clock.advance(300_000);
  assertEquals(await attempt(true), "made");
  assertEquals(breaker.state, "closed");
  // It begins anew.
  await fail(5);
  await clock.advance(10_000);
  assertEquals(breaker.state, "half_open");
});

Deno.test("a clock that is set does not open or close it", async () => {
  const { clock, breaker, fail } = setUp();
  await fail(5);
  clock.jump(86_400_000);
  assertEquals(breaker.state, "open");
  clock.jump(-2 * 86_400_000);
  await clock.advance(10_000);
  assertEquals(breaker.state, "half_open");
});

Deno.test("one probe at a time; one that its caller gave up decides nothing", async () => {
  const { clock, breaker, attempt, fail } = setUp();
  await fail(5);
  await clock.advance(10_000);
  const probe = Promise.withResolvers<void>();
  const first = breaker.attempt(() => probe.promise, { ...failed, error: () => "nothing" });
  assertEquals([breaker.state, await attempt(true)], ["probing", "refused"]);
  probe.reject(new Error("gave up"));
  await assertRejects(() => first, Error, "gave up");
  assertEquals([breaker.state, await attempt(true)], ["half_open", "made"]);
  assertEquals(breaker.state, "closed");
});

Deno.test("what was under way when it opened does not close it", async () => {
  const { breaker, attempt, fail } = setUp();
  const slow = Promise.withResolvers<void>();
  const straggler = breaker.attempt(() => slow.promise, failed);
  await fail(5);
  slow.resolve();
  await straggler;
  assertEquals(breaker.state, "open");
  assertEquals(await attempt(true), "refused");
});

Deno.test("an error that the server itself answered is no failure", async () => {
  const { breaker } = setUp();
  for (let n = 0; n < 10; n++) {
    const answered = () => Promise.reject(new SvcError("validation", "no such tool"));
    await assertRejects(
      () => breaker.attempt(answered, { ...failed, error: () => "well" }),
      SvcError,
      "no such",
    );
  }
  assertEquals(breaker.state, "closed");
});

Deno.test("a success that says nothing neither closes it nor breaks a row of failures", async () => {
  const { clock, breaker, fail, attempt } = setUp();
  const says_nothing = { ...failed, success: "nothing" as const };
  const list = () => breaker.attempt(() => Promise.resolve(), says_nothing);
  await fail(4);
  await list();
  await fail(1);
  assertEquals(breaker.state, "open");
  await clock.advance(10_000);
  await list();
  assertEquals(breaker.state, "half_open");
  await attempt(true);
  assertEquals(breaker.state, "closed");
});
