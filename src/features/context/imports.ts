/** The `@path` imports in a file of rules. */

/** An import that is looked for by name: a word like `@angular/core` may be none. */
const MEANT = /\.(?:md|mdc|markdown|txt)$/i;

export interface Import {
  /** As it is written, without the `@`. */
  path: string;
  /** Whether it is worth telling that there is no such file. */
  meant: boolean;
}

/**
 * Finds the imports of a text, in their order and each once: `@` at the beginning of a word and a
 * path after it. In code, between backticks or in a fenced block, there are none.
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
