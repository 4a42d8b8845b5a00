import { assertEquals } from "@std/assert";
import { AWAY_MS, RETURN_MS, TemporarySessions } from "./temporary.ts";

/** Sessions with a clock, and which of them were deleted. */
class Place {
  time = 0;
  readonly deleted: string[] = [];
  readonly sessions = new TemporarySessions({
    log: { warn() {} },
    delete: (id) => {
      this.deleted.push(id);
      return Promise.resolve();
    },
    deleted: (id) => this.deleted.includes(id),
    now: () => this.time,
  });

  add(id: string, restored = false) {
    const session = {
      id,
      followed: false,
      was_followed: false,
      activity: "idle" as "idle" | "working" | "awaiting_approval",
      parked: undefined as { until: string; reason: string } | undefined,
    };
    this.sessions.add(session, restored);
    return session;
  }

  [Symbol.dispose](): void {
    this.sessions.stop();
  }

  after(ms: number): string[] {
    this.time += ms;
    this.sessions.look();
    return this.deleted;
  }
}

Deno.test("a temporary session goes soon after its last follower, its turn with it", () => {
  using place = new Place();
  const session = Object.assign(place.add("a"), {
    followed: true,
    was_followed: true,
    activity: "working",
  });
  assertEquals(place.after(100 * AWAY_MS), []);
  session.followed = false;
  assertEquals(place.after(AWAY_MS - 1), []);
  session.followed = true;
  assertEquals(place.after(1), []);
  session.followed = false;
  assertEquals(place.after(AWAY_MS - 1), []);
  assertEquals(place.after(1), ["a"]);
  assertEquals(place.after(AWAY_MS), ["a"]);
});

Deno.test("one that nobody has followed goes after its turn, an open question or a parked turn", () => {
  using place = new Place();
  const session = Object.assign(place.add("a"), { activity: "working" });
  const parked = Object.assign(place.add("b"), {
    activity: "working",
    parked: { until: "", reason: "" },
  });
  assertEquals(parked.parked.reason, "");
  place.add("c").activity = "awaiting_approval";
  assertEquals(place.after(AWAY_MS), ["b", "c"]);
  assertEquals(place.after(100 * AWAY_MS), ["b", "c"]);
  session.activity = "idle";
  assertEquals(place.after(AWAY_MS - 1), ["b", "c"]);
  assertEquals(place.after(1), ["b", "c", "a"]);
});

Deno.test("one of an earlier daemon waits longer for its client, and its turn does not hold it", () => {
  using place = new Place();
  place.add("a", true).activity = "working";
  assertEquals(place.after(RETURN_MS - 1), []);
  assertEquals(place.after(1), ["a"]);
});

Deno.test("a daemon that stops leaves them to the next one", () => {
  using place = new Place();
  place.add("a");
  place.sessions.stop();
  assertEquals(place.after(100 * AWAY_MS), []);
});
