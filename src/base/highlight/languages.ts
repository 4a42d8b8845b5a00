/** The languages that are highlighted, by the names of code blocks and of files' endings. */
const KNOWN = new Set(
  ("bash sh zsh shell c h cpp c++ cc cxx hpp hh cs csharp css diff patch dockerfile docker go golang " +
    "ini toml java js javascript jsx mjs cjs json jsonc md markdown py python rb ruby rs rust " +
    "sql ts typescript tsx mts cts xml html xhtml svg yaml yml").split(" "),
);

/** The language of a code block by its name, if it is highlighted. */
export function languageOf(name: string): string | undefined {
  const language = name.toLowerCase();
  return KNOWN.has(language) ? language : undefined;
}

/** The language of a file by its path, if it is highlighted. */
export function languageOfPath(path: string): string | undefined {
  return languageOf(path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf(".")) + 1));
}
