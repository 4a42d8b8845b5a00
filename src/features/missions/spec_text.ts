/** What a spec's text says, and what it has besides. */
import { Lexer } from "yaml";
import type * as z from "zod";
import { readSpecText } from "./spec.ts";
import { type specTextSchema, TEXT_ONLY } from "./schemas.ts";

type TextOnly = typeof TEXT_ONLY[number];

/** How the lexemes of each begin. */
const SIGNS: Record<TextOnly, string> = { comments: "#", anchors: "&", tags: "!" };

/** Reads a spec's text for a client that shows it in another form. */
export function readText(source: string): z.output<ReturnType<typeof specTextSchema>> {
  const { value, issues } = readSpecText(source);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { text_only: [], issues };
  }
  const spec = value as Record<string, unknown>;
  if (source.trimStart().startsWith("{")) return { spec, text_only: [], issues };
  const signs = new Set<string>();
  for (const lexeme of new Lexer().lex(source)) signs.add(lexeme[0]);
  return { spec, text_only: TEXT_ONLY.filter((it) => signs.has(SIGNS[it])), issues };
}
