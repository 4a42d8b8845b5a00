import { assertEquals } from "@std/assert";
import { MemoryLog } from "../../tests/support/sessions.ts";
import { Housekeeping } from "./housekeeping.ts";
import type { Session } from "./session.ts";

Deno.test("a journal too large is looked at for its size once, and again when it has grown by a tenth", () => {
  let looked = 0;
  const journal = { size: 0, oldest_at: new Date().toISOString(), release() {} };
  // Of an open turn nothing can be rewritten.
  const retain = () => Promise.resolve(looked++ < 0);
  const session = { id: "sess_1", journal, retain } as unknown as Session;
  const housekeeping = new Housekeeping({
    anchors: "/nowhere",
    log: new MemoryLog(),
    async *sessions() {
      yield session;
    },
    onRested: () => {},
    retention: () => ({ age_ms: 3_600_000, bytes: 1_000 }),
    onRest: () => {},
  });
  const after = (size: number) => {
    journal.size = size;
    housekeeping.committed(session, true);
    return looked;
  };
  try {
    assertEquals([900, 1_000].map(after), [0, 0]);
    assertEquals([1_001, 1_002, 1_101].map(after), [1, 1, 1]);
    assertEquals([1_102, 1_150, 1_203].map(after), [2, 2, 3]);
  } finally {
    housekeeping.stop();
  }
});
