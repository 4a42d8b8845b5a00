import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import { type Migrations, openStateDb } from "./state_db.ts";
import { FEATURES } from "../features/registry.ts";
import { migrationsOf } from "../verbs/feature.ts";
import { openTestDb } from "../../tests/support/state_db.ts";
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
      const db = await openTestDb(path);
      db.exec("INSERT INTO task_settings VALUES ('x', 'y')");
      for (const file of stateDbFiles(path)) {
        assertEquals(Deno.statSync(file).mode! & 0o777, 0o600, file);
      }
      assertEquals(Object.values(db.prepare("PRAGMA synchronous").get()!), [2], "FULL");
      assertEquals(Object.values(db.prepare("PRAGMA journal_mode").get()!), ["wal"]);
      db.close();
      const again = await openTestDb(path);
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
    const db = await openTestDb(path);
    db.exec("PRAGMA user_version = 999");
    db.close();
    const before = Deno.readFileSync(path);
    const error = await assertRejects(() => openTestDb(path), SvcError, "schema version 999");
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
      () => openTestDb(path),
      SvcError,
      "cannot open the database",
    );
    assertEquals(
      broken.hint,
      `move it away to start with an empty database: mv ${path} ${path}.old`,
    );
    Deno.chmodSync(path, 0o644);
    const wide = await assertRejects(() => openTestDb(path), SvcError, "has mode 0644");
    assertEquals(wide.hint, `chmod 0600 ${path}`);
    Deno.removeSync(path);
    Deno.symlinkSync(dir.join("elsewhere"), `${path}-wal`);
    await assertRejects(() => openTestDb(path), SvcError, "symbolic link");
  },
});

Deno.test({
  name: "each feature's own steps are counted apart, and a step that is not known is refused",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("state.db");
    const steps = ["CREATE TABLE notes (text TEXT);", "INSERT INTO notes VALUES ('two');"];
    const versionOf = async (features: Migrations) => {
      const db = await openStateDb(path, features);
      const { user_version } = db.prepare("PRAGMA user_version").get()!;
      const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      const notes = tables.some(({ name }) => name === "notes")
        ? db.prepare("SELECT text FROM notes").all().length
        : undefined;
      db.close();
      return [user_version, notes];
    };
    const before = await migrationsOf(FEATURES);
    assertEquals(await versionOf(before), [10, undefined]);
    assertEquals(await versionOf({ ...before, notes: steps.slice(0, 1) }), [10, 0]);
    assertEquals(await versionOf({ ...before, notes: steps, others: [] }), [10, 1]);
    assertEquals(await versionOf({ ...before, notes: steps }), [10, 1], "once");
    const error = await assertRejects(
      () => openStateDb(path, { ...before, notes: steps.slice(0, 1) }),
      SvcError,
      "(notes) has schema version 2; this svc supports up to 1",
    );
    assertEquals(error.code, "schema_version");
    assertEquals(await versionOf(before), [10, 1], "without the feature its tables stay");
  },
});

Deno.test("the numbered steps are there once each, in the order of their features", async () => {
  const features = Object.values(await migrationsOf(FEATURES));
  const numbers = features.map((steps) =>
    steps.flatMap((it) => typeof it === "string" ? [] : it.was)
  );
  assertEquals(numbers.flat().toSorted((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const each of numbers) assertEquals(each, each.toSorted((a, b) => a - b));
});
