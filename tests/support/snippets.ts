/** The blocks of code of a Markdown page. */

export interface Block {
  language: string;
  /** The page's line of its first line, from 1. */
  line: number;
  text: string;
}

/** A block of shell commands. */
export interface Snippet {
  line: number;
  script: string;
}

const FENCE = /^( *)```(\w*)\n([\s\S]*?)^ *```$/gm;

/** Returns the blocks of code of a page, in order. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(FENCE)].map((match) => {
    const [, indent, language, text] = match;
    return {
      language,
      line: page.slice(0, match.index).split("\n").length + 1,
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

/** Returns the shell snippets of a page, in order. */
export function snippetsOf(page: string): Snippet[] {
  return blocksOf(page).filter(({ language }) => language === "sh")
    .map(({ line, text }) => ({ line, script: text }));
}
