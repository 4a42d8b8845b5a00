import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import { openStateDb } from "./state_db.ts";
import { stateDbFiles } from "./state_db_files.ts";

const ignore = !granted("read", "write") || Deno.build.os === "windows";

Deno.test({
  name: "the database and the files beside it are for their owner alone, whatever the umask",
  ignore,
  async fn() {
    using dir = new TempDir();
    const umask = Deno.umask(0);
    try {
      const path = dir.join("state.db");
      const db = await openStateDb(path);
      db.exec("INSERT INTO task_settings VALUES ('x', 'y')");
      for (const file of stateDbFiles(path)) {
        assertEquals(Deno.statSync(file).mode! & 0o777, 0o600, file);
      }
      assertEquals(Object.values(db.prepare("PRAGMA synchronous").get()!), [2], "FULL");
      assertEquals(Object.values(db.prepare("PRAGMA journal_mode").get()!), ["wal"]);
      db.close();
      const again = await openStateDb(path);
      assertEquals(again.prepare("SELECT value FROM task_settings").all().length, 1);
      again.close();
    } finally {
      Deno.umask(umask);
    }
  },
});

Deno.test({
  name: "a database of a newer svc is refused and left as it is",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("state.db");
    const db = await openStateDb(path);
    db.exec("PRAGMA user_version = 999");
    db.close();
    const before = Deno.readFileSync(path);
    const error = await assertRejects(() => openStateDb(path), SvcError, "schema version 999");
    assertEquals(error.code, "schema_version");
    assertEquals(Deno.readFileSync(path), before);
  },
});

Deno.test({
  name: "what is no database, too wide or a link is refused with what mends it",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("state.db");
    Deno.writeTextFileSync(path, "not a database, ".repeat(100), { mode: 0o600 });
    const broken = await assertRejects(
      () => openStateDb(path),
      SvcError,
      "cannot open the database",
    );
    assertEquals(
      broken.hint,
      `move it away to start with an empty database: mv ${path} ${path}.old`,
    );
    Deno.chmodSync(path, 0o644);
    const wide = await assertRejects(() => openStateDb(path), SvcError, "has mode 0644");
    assertEquals(wide.hint, `chmod 0600 ${path}`);
    Deno.removeSync(path);
    Deno.symlinkSync(dir.join("elsewhere"), `${path}-wal`);
    await assertRejects(() => openStateDb(path), SvcError, "symbolic link");
  },
});
