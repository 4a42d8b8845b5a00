/** Text as whoever reads it next may see it, whatever was put in to hide it from a check. */

/** Named references that can hide a mark; the numeric ones are decoded all. */
const NAMED: Record<string, string> = {
  amp: "&",
  apos: "'",
  colon: ":",
  equals: "=",
  excl: "!",
  gt: ">",
  lbrack: "[",
  lpar: "(",
  lsqb: "[",
  lt: "<",
  num: "#",
  quest: "?",
  quot: '"',
  rbrack: "]",
  rpar: ")",
  rsqb: "]",
  sol: "/",
  verbar: "|",
  vert: "|",
};

/**
 * Undoes what leaves a text reading the same: characters without a width, compatibility forms
 * (NFKC), character references of HTML.
 */
export function unhidden(text: string): string {
  return decodeReferences(text).normalize("NFKC").replace(/[\p{Cf}\p{Variation_Selector}]/gu, "");
}

/** Decodes the character references of HTML that can hide a mark. */
export function decodeReferences(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7});?|#x([0-9a-f]{1,6});?|([a-z]{2,7});)/gi,
    (all, decimal, hexadecimal, name) => {
      if (name !== undefined) return NAMED[name.toLowerCase()] ?? all;
      const code = decimal !== undefined ? Number(decimal) : parseInt(hexadecimal, 16);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
    },
  );
}
