/** The part of `@std/yaml` that is used here. Throws SyntaxError, which names line and column. */
export function parse(text: string): unknown;
