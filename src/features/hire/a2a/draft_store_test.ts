import { assertEquals, assertThrows } from "@std/assert";
import { granted } from "../../../../tests/support/permissions.ts";
import { TempDir } from "../../../../tests/support/sessions.ts";
import { openTestDb } from "../../../../tests/support/state_db.ts";
import { newTaskId } from "../../tasks/common.ts";
import { type Draft, DraftStore } from "./draft_store.ts";

const ignore = !granted("read", "write");
const IDS = Array.from({ length: 6 }, newTaskId);

function draft(n: number, more: Partial<Draft> = {}): Draft {
  return {
    id: IDS[n],
    key_id: "a",
    context_id: "c",
    state: "open",
    changed_at: `2026-01-01T00:00:0${n}.000Z`,
    texts: [`text ${n}`],
    data: {},
    said: [],
    callbacks: [],
    ...more,
  };
}

Deno.test({
  name: "drafts are kept, listed by their last change, and forgotten when there are too many",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("state.db");
    const first = new DraftStore(await openTestDb(path), 3);
    for (const n of [0, 1, 2]) first.put(draft(n), `r${n}`);
    first.put(draft(3, { key_id: "b" }), "r0");
    first.close();

    const store = new DraftStore(await openTestDb(path), 3);
    const a = { key_id: "a" };
    assertEquals(store.get(IDS[1]), draft(1));
    assertEquals([store.draftOf("a", "r0"), store.draftOf("b", "r0")], [IDS[0], IDS[3]]);
    const page = store.list(a, 2);
    assertEquals(page.drafts.map(({ id }) => id), [IDS[2], IDS[1]]);
    assertEquals(page.total, 3);
    assertEquals(store.list(a, 2, page.next_cursor).drafts.map(({ id }) => id), [IDS[0]]);
    assertThrows(() => store.list(a, 2, "' OR 1"), Error, "page token");

    store.put(draft(0, { state: "cancelled", changed_at: "2026-01-01T00:00:05.000Z" }));
    store.put(draft(2, { state: "done" }));
    assertEquals(store.list(a, 9).drafts.map(({ id }) => id), [IDS[0], IDS[1]]);
    assertEquals(store.list({ ...a, cancelled: true }, 9).total, 1);
    assertEquals(store.list({ ...a, cancelled: false }, 9).drafts[0].id, IDS[1]);
    assertEquals(store.list({ ...a, context_id: "d" }, 9).total, 0);
    assertEquals(store.list({ ...a, changed_since: "2026-01-01T00:00:02.000Z" }, 9).total, 1);

    store.put(draft(4), "r4");
    assertEquals(store.get(IDS[1]), undefined, "the one that changed longest ago");
    assertEquals([store.draftOf("a", "r1"), store.draftOf("a", "r4")], [undefined, IDS[4]]);
    assertEquals(store.get(IDS[3])?.key_id, "b");
    store.close();
  },
});
