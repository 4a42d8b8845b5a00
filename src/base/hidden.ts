/** Invisible characters, for patterns. */

/** Invisible characters, and those that change how others are shown. */
export const HIDDEN =
  "\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\ufffc\\u{16fe4}\\u{1d159}";

/** A pattern built at first use: Unicode properties take 5 ms, which each command would pay. */
export function lazy(source: string, flags: string): () => RegExp {
  let built: RegExp | undefined;
  return () => built ??= new RegExp(source, flags);
}
