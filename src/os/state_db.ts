/**
 * Opens `state.db`, the daemon's database (contract.md section 1), private and with the right
 * schema.
 */
import { stateDbFiles } from "./state_db_files.ts";
import type { DatabaseSync } from "node:sqlite";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { checkPrivate } from "./files.ts";

/** A step of a feature's tables to the next version. Never edit a released step; add another. */
export type Migration = string | NumberedMigration;

/** A step from when all tables had one version; `was` is the version it made. */
export interface NumberedMigration {
  readonly was: number;
  readonly sql: string;
}

/** By the feature's name. */
export type Migrations = Readonly<Record<string, readonly Migration[]>>;

/**
 * The version of a database that keeps its features' versions in a table. No step has this number.
 */
const COUNTED = 10;

/**
 * Opens or creates the database, with mode 0600 and the tables of all features. The caller closes
 * it.
 *
 * A commit is on the disk when it returns (`synchronous = FULL`).
 *
 * @throws {SvcError} permission_denied when one of its files is wider than 0600, foreign or a link;
 * `schema_version` when a newer svc wrote it; `internal` when it is not a database or cannot be
 * read
 */
export async function openStateDb(path: string, features: Migrations): Promise<DatabaseSync> {
  const [there] = stateDbFiles(path).map((file) => checkPrivate(file, 0o600, "file"));
  // SQLite would use the umask; its other files take this one's mode.
  if (!there) Deno.openSync(path, { write: true, createNew: true, mode: 0o600 }).close();
  const { DatabaseSync } = await import("node:sqlite");
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    db.exec("PRAGMA busy_timeout = 2000");
    // Before the first page is written; later it would only change the header at each start.
    const { page_count } = db.prepare("PRAGMA page_count").get()!;
    if (page_count === 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    // Little is read twice, so a small cache is enough.
    db.exec(`PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA cache_size = -256;
      PRAGMA journal_size_limit = 4194304;`);
    migrate(db, path, features);
    return db;
  } catch (cause) {
    db?.close();
    if (cause instanceof SvcError) throw cause;
    throw new SvcError("internal", `cannot open the database ${path}: ${messageOf(cause)}`, {
      hint: `move it away to start with an empty database: mv ${path} ${path}.old`,
      cause,
    });
  }
}

function migrate(db: DatabaseSync, path: string, features: Migrations): void {
  const { user_version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  if (user_version > COUNTED) throw tooNew(path, user_version, COUNTED);
  const steps = Object.values(features).flat().filter((it) => typeof it !== "string")
    .filter(({ was }) => was > user_version).sort((a, b) => a.was - b.was);
  for (const { was, sql } of steps) inOne(db, `${sql} PRAGMA user_version = ${was};`);
  const versions = user_version === COUNTED ? versionsIn(db) : new Map<string, number>();
  for (const [name, all] of Object.entries(features)) {
    const own = all.filter((it) => typeof it === "string");
    const done = versions.get(name) ?? 0;
    if (done > own.length) throw tooNew(`${path} (${name})`, done, own.length);
    for (let version = done; version < own.length; version++) {
      inOne(
        db,
        `CREATE TABLE IF NOT EXISTS feature_versions (
          name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        ${own[version]}
        INSERT OR REPLACE INTO feature_versions VALUES ('${name}', ${version + 1});
        PRAGMA user_version = ${COUNTED};`,
      );
    }
  }
}

/** The number of steps that each feature has taken. */
function versionsIn(db: DatabaseSync): Map<string, number> {
  const rows = db.prepare("SELECT name, version FROM feature_versions").all();
  return new Map(rows.map(({ name, version }) => [name as string, version as number]));
}

function inOne(db: DatabaseSync, sql: string): void {
  db.exec(`BEGIN IMMEDIATE; ${sql} COMMIT`);
}

function tooNew(what: string, found: number, newest: number): SvcError {
  return new SvcError(
    "schema_version",
    `the database ${what} has schema version ${found}; this svc supports up to ${newest}`,
    { hint: "a newer svc wrote it; `svc update` installs a newer version" },
  );
}
