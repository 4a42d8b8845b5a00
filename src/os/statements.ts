import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Value = string | number | null;
export type Row = Record<string, Value>;

const PARAMETER = /:([a-z_]+)/g;

interface Prepared {
  statement: StatementSync;
  /** Of its parameters, in order. */
  names: readonly string[];
}

/** A database user's statements, each prepared once. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  /** @param db {@linkcode Statements.close} closes it */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  close(): void {
    this.#prepared.clear();
    this.#db.close();
  }

  run(sql: string, values: Row = {}) {
    const { statement, names } = this.#prepare(sql);
    return statement.run(...names.map((name) => values[name]));
  }

  get(sql: string, values: Row = {}): Row | undefined {
    const { statement, names } = this.#prepare(sql);
    return statement.get(...names.map((name) => values[name])) as Row | undefined;
  }

  all(sql: string, values: Row = {}): Row[] {
    const { statement, names } = this.#prepare(sql);
    return statement.all(...names.map((name) => values[name])) as Row[];
  }

  /** Does all of `work`, which must be synchronous, or nothing. Inside another, it is part of that. */
  transaction<T>(work: () => T): T {
    if (this.#db.isTransaction) return work();
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

  /** Numbers the parameters: values bound by name take twice as long. */
  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const names = [...new Set(Array.from(sql.matchAll(PARAMETER), ([, name]) => name))];
    const numbered = sql.replace(PARAMETER, (_, name) => `?${names.indexOf(name) + 1}`);
    const prepared = { statement: this.#db.prepare(numbered), names };
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

/** Returns a row without its null values. */
export function given(row: Row): Row {
  const kept: Row = {};
  for (const name in row) if (row[name] !== null) kept[name] = row[name];
  return kept;
}
