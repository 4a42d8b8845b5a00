/** The part of `@std/yaml` that is used here. Throws SyntaxError, which names line and column. */
export function parse(
  text: string,
  /** `core` has neither dates nor merges. */
  options?: { schema?: "core" | "default" },
): unknown;
