/** The `@path` imports in a rules file. */

/** Certainly an import, while a word like `@angular/core` may be none. */
const MEANT = /\.(?:md|mdc|markdown|txt)$/i;

export interface Import {
  /** As written, without the `@`. */
  path: string;
  /** Whether to report a missing file. */
  meant: boolean;
}

/**
 * Returns the imports of a text, in order and without duplicates: `@` at the start of a word, and a
 * path. Code has no imports.
 */
export function importsIn(text: string): Import[] {
  const found = new Map<string, Import>();
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    const [, mark] = line.match(/^ {0,3}(`{3,}|~{3,})/) ?? [];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined;
      continue;
    }
    if (fence !== undefined) continue;
    for (const [, word] of withoutCode(line).matchAll(/(?<![^\s([{"'*_>])@([^\s`@]+)/g)) {
      const path = word.replace(/[.,;:!?)\]}"'*_>]+$/, "");
      if (/[./]/.test(path)) found.set(path, { path, meant: MEANT.test(path) });
    }
  }
  return [...found.values()];
}

function withoutCode(line: string): string {
  return line.replaceAll(/(`+)(?:(?!\1)[^])*?\1/g, " ");
}
