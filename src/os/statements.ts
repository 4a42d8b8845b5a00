import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Value = string | number | null;
export type Row = Record<string, Value>;

/** A database user's statements, each prepared once. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  /** @param db {@linkcode Statements.close} closes it */
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

  get(sql: string, values: Row = {}): Row | undefined {
    return this.#statement(sql).get(values) as Row | undefined;
  }

  all(sql: string, values: Row = {}): Row[] {
    return this.#statement(sql).all(values) as Row[];
  }

  /** Does all of `work`, which must be synchronous, or nothing. */
  transaction<T>(work: () => T): T {
    this.run("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.run("COMMIT");
      return result;
    } catch (error) {
      // A full disk has already rolled it back.
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

/** Returns a row without its null values. */
export function given(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
