/** Kept rules, and directories whose own rules are trusted, in the state database. */
import type { DatabaseSync } from "node:sqlite";
import { SvcError } from "../../protocol/errors.ts";
import { Statements } from "../../os/statements.ts";
import { type Action, parseRule, type Rule } from "./rule.ts";

export type Scope = "session" | "directory" | "everywhere";

export interface KeptRule {
  rule_id: string;
  action: Action;
  rule: string;
  /** The tool as it was; empty for a rule that only names the tool. */
  bound: string;
  scope: Scope;
  /** A session id or a directory; empty for everywhere. */
  place: string;
  made_at: string;
  made_by: string;
}

export interface TrustedDirectory {
  /** Absolute real path. */
  directory: string;
  /** SHA-256 of the files that were decided about; another content is not trusted. */
  content_hash: string;
  trusted_at: string;
  trusted_by: string;
}

interface ReadRule extends KeptRule {
  parsed: Rule;
}

const RULES_MAX = 5_000;

/** The only writer of its tables, so its caches are always current. */
export class RuleStore implements Disposable {
  readonly #sql: Statements;
  readonly #rules = new Map<string, ReadRule>();
  readonly #trusted = new Map<string, TrustedDirectory>();
  /** The content that a person was asked about and did not trust, by directory. */
  readonly #declined = new Map<string, string>();

  /** @param db is closed with the store */
  constructor(db: DatabaseSync) {
    this.#sql = new Statements(db);
    const rows = this.#sql.all("SELECT * FROM permission_rules ORDER BY made_at, rule_id");
    for (const row of rows as unknown as KeptRule[]) {
      this.#rules.set(row.rule_id, { ...row, parsed: readRule(row) });
    }
    const trusted = this.#sql.all("SELECT * FROM trusted_directories ORDER BY directory");
    for (const row of trusted as unknown as TrustedDirectory[]) {
      this.#trusted.set(row.directory, { ...row });
    }
    const declined = this.#sql.all("SELECT * FROM declined_directories");
    for (const row of declined as unknown as TrustedDirectory[]) {
      this.#declined.set(row.directory, row.content_hash);
    }
  }

  trusted(): TrustedDirectory[] {
    return [...this.#trusted.values()];
  }

  /** Returns what a person has decided about a directory's files, if they have this content. */
  decided(directory: string, content_hash: string): "trusted" | "declined" | undefined {
    if (this.#trusted.get(directory)?.content_hash === content_hash) return "trusted";
    return this.#declined.get(directory) === content_hash ? "declined" : undefined;
  }

  /** Trusts a directory's files as they are. */
  trust(trusted: TrustedDirectory): void {
    this.#sql.run(
      `INSERT OR REPLACE INTO trusted_directories VALUES
        (:directory, :content_hash, :trusted_at, :trusted_by)`,
      { ...trusted },
    );
    this.#trusted.set(trusted.directory, trusted);
  }

  /** Remembers that a person does not trust a directory's files as they are. */
  decline(directory: string, content_hash: string): void {
    this.#sql.run(
      "INSERT OR REPLACE INTO declined_directories VALUES (:directory, :content_hash)",
      { directory, content_hash },
    );
    this.#declined.set(directory, content_hash);
  }

  /** @returns whether it was trusted */
  untrust(directory: string): boolean {
    this.#sql.run("DELETE FROM trusted_directories WHERE directory = :directory", { directory });
    return this.#trusted.delete(directory);
  }

  all(): ReadRule[] {
    return [...this.#rules.values()];
  }

  /**
   * Adds a rule; `existed` if it is already kept. @throws {SvcError} conflict when there are too
   * many.
   */
  add(rule: KeptRule): KeptRule & { existed: boolean } {
    const same = this.all().find((it) =>
      it.action === rule.action && it.rule === rule.rule && it.bound === rule.bound &&
      it.scope === rule.scope && it.place === rule.place
    );
    if (same !== undefined) return { ...same, existed: true };
    if (this.#rules.size >= RULES_MAX) {
      throw new SvcError("conflict", `${RULES_MAX} rules are kept already`, {
        hint: "`svc permissions remove` removes rules that you no longer need",
      });
    }
    const parsed = parseRule(rule.action, rule.rule);
    this.#sql.run(
      `INSERT INTO permission_rules VALUES
        (:rule_id, :action, :rule, :bound, :scope, :place, :made_at, :made_by)`,
      { ...rule },
    );
    this.#rules.set(rule.rule_id, { ...rule, parsed });
    return { ...rule, existed: false };
  }

  /** @returns the removed rule, if it existed */
  remove(rule_id: string): KeptRule | undefined {
    const rule = this.#rules.get(rule_id);
    if (rule === undefined) return undefined;
    this.#sql.run("DELETE FROM permission_rules WHERE rule_id = :rule_id", { rule_id });
    this.#rules.delete(rule_id);
    return rule;
  }

  sessionEnded(session_id: string): void {
    for (const { rule_id, scope, place } of this.all()) {
      if (scope === "session" && place === session_id) this.remove(rule_id);
    }
  }

  [Symbol.dispose](): void {
    this.#sql.close();
  }
}

/** A rule that this version cannot parse might have denied, so it asks. */
function readRule({ action, rule }: KeptRule): Rule {
  try {
    return parseRule(action, rule);
  } catch {
    return { action: action === "allow" ? "allow" : "ask", tool: action === "allow" ? "" : "*" };
  }
}
