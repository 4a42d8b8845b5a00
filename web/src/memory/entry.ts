import type { Result } from "../rpc/api.ts";

export type Entry = Result<"cortex.list">["entries"][number];
export type Category = Entry["category"];
export type Scope = Entry["scope"];

export const CATEGORIES: Record<Category, string> = {
  fact: "Fact",
  preference: "Preference",
  pattern: "Pattern",
  gotcha: "Gotcha",
  anti_pattern: "Anti-pattern",
  fix: "Fix",
};

/** The scopes, and who sees what is in them. */
export const SCOPES: Record<Scope, string> = {
  Session: "One session",
  Worker: "The sessions of one directory",
  AllSessions: "All of your trusted sessions",
  Global: "All sessions, including hired work",
  Always: "Like Global, and included in every conversation",
};

/** A scope in words. */
export function scopeWord(scope: string): string {
  return scope === "AllSessions" ? "All sessions" : scope;
}

/** Whether an entry of a scope belongs to somebody. */
export function isOwned(scope: Scope): boolean {
  return scope === "Session" || scope === "Worker";
}
