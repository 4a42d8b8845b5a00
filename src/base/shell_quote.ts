const PLAIN = /^[\w@%+=:,./-]+$/;

/** A word for a POSIX shell, which takes it as it is: in quotes where it needs them. */
export function shellQuote(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
