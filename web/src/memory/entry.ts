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
  Session: "One session alone",
  Worker: "The sessions of one directory",
  AllSessions: "All of your sessions that are trusted",
  Global: "All sessions, those of hired work too",
  Always: "As Global, and every conversation is told it",
};

/** Whether an entry of a scope belongs to somebody. */
export function isOwned(scope: Scope): boolean {
  return scope === "Session" || scope === "Worker";
}
