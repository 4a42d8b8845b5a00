import { assertEquals, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Statements } from "./statements.ts";

function opened(): Statements {
  const db = new Statements(new DatabaseSync(":memory:"));
  db.run("CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT) STRICT");
  return db;
}

Deno.test("values are bound by name, in any order and as often as they are named", () => {
  const db = opened();
  db.run("INSERT INTO names VALUES (:id, :name)", { name: "a", id: 1 });
  const sql = "SELECT id, :name AS again FROM names WHERE name = :name AND id = :id";
  assertEquals({ ...db.get(sql, { id: 1, name: "a" }) }, { id: 1, again: "a" });
  assertEquals(db.all(sql, { id: 2, name: "a" }), []);
  db.close();
});

Deno.test("a transaction inside another is part of it", () => {
  const db = opened();
  assertThrows(() =>
    db.transaction(() => {
      db.transaction(() => db.run("INSERT INTO names VALUES (1, 'a')"));
      throw new Error("too late");
    })
  );
  assertEquals(db.all("SELECT * FROM names"), []);
  db.close();
});
