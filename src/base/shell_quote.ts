const PLAIN = /^[\w@%+=:,./-]+$/;

/** Quotes a word for a POSIX shell if needed. */
export function shellQuote(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
