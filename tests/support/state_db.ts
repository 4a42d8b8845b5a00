import type { DatabaseSync } from "node:sqlite";
import { FEATURES } from "../../src/features/registry.ts";
import { openStateDb } from "../../src/os/state_db.ts";
import { migrationsOf } from "../../src/verbs/feature.ts";

/** Opens a state database as the daemon does, with the tables of all features. */
export async function openTestDb(path: string): Promise<DatabaseSync> {
  return await openStateDb(path, await migrationsOf(FEATURES));
}
