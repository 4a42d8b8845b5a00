import { assertEquals } from "@std/assert";
import { groupsOf, nameOf, namesOf, ordered, recentDirectories } from "./groups.ts";
import type { SessionItem } from "./list.ts";

function item(id: string, workdir: string, more: Partial<SessionItem> = {}): SessionItem {
  return {
    id,
    workdir,
    activity: "idle",
    started_at: "2026-01-01",
    last_event_at: "2026-01-02",
    pending_approvals_count: 0,
    ...more,
  } as SessionItem;
}

const ids = (items: readonly SessionItem[]) => items.map(({ id }) => id).join(" ");

Deno.test("what needs the person comes first, then what is pinned, what works, what is new", () => {
  const items = [
    item("old", "/a", { last_event_at: "2026-01-01" }),
    item("new", "/a", { last_event_at: "2026-01-03" }),
    item("works", "/b", { activity: "working" }),
    item("pinned", "/b", { pinned: true, last_event_at: "2025-01-01" }),
    item("asks", "/c", { pending_approvals_count: 1, last_event_at: "2025-01-01" }),
  ];
  assertEquals(ids(ordered(items)), "asks pinned works new old");
  assertEquals(
    groupsOf(ordered(items)).map(({ workdir, items }) => `${workdir}: ${ids(items)}`),
    ["/c: asks", "/b: pinned works", "/a: new old"],
  );
  assertEquals(recentDirectories(items), ["/a", "/b", "/c"]);
});

Deno.test("two sessions that work keep their places, whichever has the last event", () => {
  const both = (a: string, b: string) =>
    ids(ordered([
      item("a", "/a", { activity: "working", started_at: "2026-01-02", last_event_at: a }),
      item("b", "/a", { activity: "working", started_at: "2026-01-01", last_event_at: b }),
    ]));
  assertEquals([both("2026-02-01", "2026-02-02"), both("2026-02-04", "2026-02-03")], [
    "a b",
    "a b",
  ]);
});

Deno.test("an order that is kept takes new sessions at its end, and leaves out what is gone", () => {
  const items = [
    item("a", "/a"),
    item("b", "/b", { pending_approvals_count: 1 }),
    item("c", "/a", { last_event_at: "2026-01-09" }),
  ];
  assertEquals(ids(ordered(items, ["a", "gone", "b"])), "a b c");
  assertEquals(groupsOf(ordered(items, ["a", "b"])).map((it) => ids(it.items)), ["a c", "b"]);
});

Deno.test("the name of a path is its last part, on every system", () => {
  assertEquals(["/home/me/work", "C:\\work\\svc", "/", "/tmp/"].map(nameOf), [
    "work",
    "svc",
    "/",
    "tmp",
  ]);
});

Deno.test("directories of one name are told apart by as much of their paths as it takes", () => {
  const paths = [
    "/work/client/app",
    "/work/server/app",
    "/app",
    "/x/one/src/lib",
    "/x/two/src/lib",
  ];
  assertEquals([...namesOf([...paths, ...paths]).values()], [
    "client/app",
    "server/app",
    "app",
    "one/src/lib",
    "two/src/lib",
  ]);
  const windows = ["C:\\work\\client\\app\\", "C:\\work\\server\\app"];
  assertEquals([...namesOf(windows).values()], ["client/app", "server/app"]);
  // Elsewhere than on Windows a name may have it.
  assertEquals([...namesOf(["/a/b\\c", "/", "/a"]).values()], ["b\\c", "/", "a"]);
});
