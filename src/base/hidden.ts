/** The characters that nobody sees, for patterns. */

/** Characters that show nothing, or change how the characters around them are shown. */
export const HIDDEN =
  "\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\ufffc\\u{16fe4}\\u{1d159}";

/**
 * A pattern that is built when it is first used: those with Unicode properties take some 5 ms
 * together, which every command would pay at its start.
 */
export function lazy(source: string, flags: string): () => RegExp {
  let built: RegExp | undefined;
  return () => built ??= new RegExp(source, flags);
}
