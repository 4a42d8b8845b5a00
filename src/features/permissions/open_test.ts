import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Host } from "../../verbs/host.ts";
import { MIGRATIONS } from "./migrations.ts";
import { Permissions } from "./open.ts";

const DIRECTORY = "/directory-without-files";

Deno.test("trust is for what its caller has read, also if a file is put back meanwhile", async () => {
  let text = "trusted";
  const source = { files: [], read: () => Promise.resolve({ text, lines: [text] }) };
  const db = new DatabaseSync(":memory:");
  for (const sql of MIGRATIONS) db.exec(String(sql));
  const host = {
    paths: { state_db: `${DIRECTORY}/state.db` },
    openStateDb: () => Promise.resolve(db),
  } as unknown as Host;
  const permissions = new Permissions(host, [source]);
  await permissions.trust((await permissions.ownOf(DIRECTORY))!, "test");
  assert(await permissions.isTrusted(DIRECTORY, "trusted"));
  assertEquals(await permissions.isTrusted(DIRECTORY, "read a moment ago"), false);
  text = "changed";
  assertEquals(await permissions.isTrusted(DIRECTORY, "changed"), false);
  assertEquals(await permissions.isTrusted(DIRECTORY, "trusted"), false);
  await permissions.close();
});
