/** Named references that can hide a marker; numeric references are all decoded. */
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
 * Removes what hides text from a check but not from a reader: zero-width characters, compatibility
 * forms (NFKC), HTML character references.
 */
export function unhidden(text: string): string {
  return decodeReferences(text).normalize("NFKC").replace(/[\p{Cf}\p{Variation_Selector}]/gu, "");
}

/** Decodes the HTML character references that can hide a marker. */
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
