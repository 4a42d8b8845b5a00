/** The part of `@std/toml` that is used here. Throws SyntaxError. */
export function parse(text: string): Record<string, unknown>;
