/** The part of `@std/jsonc` that is used here. Throws SyntaxError. */
export function parse(text: string): unknown;
