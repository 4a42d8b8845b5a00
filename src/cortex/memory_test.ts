import { assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { openStateDb } from "../platform/state_db.ts";
import { queryMemory } from "./memory.ts";

Deno.test({
  name: "entries are found by scope and by the letters their key begins with, in order of the key",
  ignore: !granted("read", "write", "sys"),
  async fn() {
    using dir = new TempDir();
    const db = await openStateDb(dir.join("state.db"));
    const insert = db.prepare(
      "INSERT INTO memory (scope, key, value, updated_at) VALUES (?, ?, ?, ?)",
    );
    const at = "2026-01-02T03:04:05.678Z";
    for (const key of ["build/test", "build/%", "build_", "style"]) {
      insert.run("Global", key, key, at);
    }
    insert.run("Session", "build/other", "x", at);
    const keys = (key_prefix?: string, limit = 10) => {
      const { entries, truncated } = queryMemory(db, { scope: "Global", key_prefix, limit });
      return [entries.map((entry) => entry.key), truncated];
    };
    assertEquals(keys(), [["build/%", "build/test", "build_", "style"], false]);
    assertEquals(keys("build/"), [["build/%", "build/test"], false]);
    assertEquals(keys("build/%"), [["build/%"], false]);
    assertEquals(keys("", 2), [["build/%", "build/test"], true]);
    db.close();
  },
});
