import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Value = string | number | null;
export type Row = Record<string, Value>;

/** The statements of one user of a database, each prepared once. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  /** @param db is closed with {@linkcode Statements.close}. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  close(): void {
    this.#prepared.clear();
    this.#db.close();
  }

  run(sql: string, values: Row = {}) {
    return this.#statement(sql).run(values);
  }

  /** The first row. */
  get(sql: string, values: Row = {}): Row | undefined {
    return this.#statement(sql).get(values) as Row | undefined;
  }

  all(sql: string, values: Row = {}): Row[] {
    return this.#statement(sql).all(values) as Row[];
  }

  /** Does all of `work`, which must be synchronous, or nothing of it. */
  transaction<T>(work: () => T): T {
    this.run("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.run("COMMIT");
      return result;
    } catch (error) {
      // A full disk has rolled it back already.
      if (this.#db.isTransaction) this.run("ROLLBACK");
      throw error;
    }
  }

  #statement(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) this.#prepared.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }
}

/** A row without what it does not have. */
export function given(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
