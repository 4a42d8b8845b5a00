/** Parses a search query into terms. */
import { SvcError } from "../../protocol/errors.ts";
import type { Term } from "./messages.ts";

/** Longer queries are slow and find nothing better. */
const TERMS_MAX = 16;
const WORDS_MAX = 32;
const PREFIXES_MAX = 4;
const PREFIX_MIN = 2;

/** Parses words, `"phrases"` and prefixes such as `wor*`. @throws {SvcError} validation. */
export function termsOf(query: string): Term[] {
  const refuse = (message: string) =>
    new SvcError("validation", `session.search: ${message}`, {
      hint: `use words, "phrases" and prefixes such as wor*`,
    });
  const terms: Term[] = [];
  let count = 0;
  for (const [, phrase, word] of query.matchAll(/"([^"]*)"?|([^\s"]+)/g)) {
    const prefix = word !== undefined && /[\p{L}\p{N}]\*$/u.test(word);
    const words = (phrase ?? word).match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? [];
    if (words.length === 0) continue;
    count += words.length;
    if (prefix && Array.from(words.at(-1)!).length < PREFIX_MIN) {
      throw refuse(`${JSON.stringify(word)} is too short: give at least ${PREFIX_MIN} characters`);
    }
    terms.push({ words, prefix });
  }
  if (terms.length === 0) throw refuse("the query has no words");
  if (terms.length > TERMS_MAX || count > WORDS_MAX) {
    throw refuse(`a query can have at most ${TERMS_MAX} terms with ${WORDS_MAX} words in total`);
  }
  if (terms.filter(({ prefix }) => prefix).length > PREFIXES_MAX) {
    throw refuse(`a query can have at most ${PREFIXES_MAX} prefixes`);
  }
  return terms;
}
