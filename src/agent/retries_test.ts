import { assertEquals, assertMatch } from "@std/assert";
import { ModelError } from "../models/model.ts";
import type { Turn } from "../session/turn.ts";
import { parkedEnd } from "./retries.ts";

const HOUR = 3_600_000;
const turn = (parks_after_ms?: number) => ({ parks_after_ms }) as Turn;
const limited = (retry_after_ms?: number) =>
  new ModelError("quota", { retryable: true, status: 429, limited: true, retry_after_ms });

Deno.test("a wait that is longer than retries parks the turn, if it may be parked", () => {
  const end = parkedEnd(limited(HOUR), turn(60_000), false)!;
  assertEquals([end.stop_reason, end.park], ["rate_limit", { wait_ms: HOUR, reason: "quota" }]);
  assertMatch(end.error!, /^quota; it asks to wait until .* UTC$/);
  assertEquals(parkedEnd(limited(60_000), turn(60_000), false), undefined);
  assertEquals(parkedEnd(limited(HOUR), turn(), false), undefined);
  assertEquals(parkedEnd(limited(), turn(60_000), false), undefined);
  const overloaded = { retryable: true, status: 503, retry_after_ms: HOUR };
  assertEquals(parkedEnd(new ModelError("busy", overloaded), turn(60_000), false), undefined);
  assertEquals(parkedEnd(new Error("a bug"), turn(60_000), false), undefined);
});

Deno.test("a limit that holds longer than it said parks the turn again, for a while", () => {
  assertEquals(parkedEnd(limited(), turn(60_000), true)?.park?.wait_ms, HOUR / 4);
  assertEquals(parkedEnd(limited(), turn(HOUR), true)?.park?.wait_ms, HOUR);
  assertEquals(parkedEnd(limited(1_000), turn(60_000), true)?.park?.wait_ms, HOUR / 12);
});

Deno.test("a parked turn whose provider fails otherwise waits a little, unless it fails for good", () => {
  const unreachable = new ModelError("cannot reach it", { retryable: true });
  const end = parkedEnd(unreachable, turn(60_000), true)!;
  const park = { wait_ms: HOUR / 12, reason: "cannot reach it" };
  assertEquals([end.stop_reason, end.error, end.park], ["error", "cannot reach it", park]);
  assertEquals(parkedEnd(unreachable, turn(60_000), false), undefined);
  const refused = new ModelError("the key is wrong", { retryable: false, status: 401 });
  assertEquals(parkedEnd(refused, turn(60_000), true), undefined);
});
