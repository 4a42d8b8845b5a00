/** Paths of images and documents in pasted text: terminals paste a dropped file as its path. */

/** A path, and how it stood in the text. */
export interface PastedPath {
  path: string;
  written: string;
}

/** Pasted text that has only paths. */
export interface Pasted {
  /** As it stands in the message. */
  text: string;
  paths: PastedPath[];
}

const ENDING = /\.(?:png|jpe?g|gif|webp|pdf)$/i;
const BEGINNING = /^(?:\/|~\/|file:\/\/|[a-z]:[\\/]|\\\\)/i;
const PATHS_MAX = 20;
const LENGTH_MAX = 64 * 1024;
/** A part of a path as a shell reads it: in quotes, after a backslash, or plain. */
const PART = `'[^']*'|"(?:[^"\\\\]|\\\\.)*"|\\\\.|[^\\s'"\\\\]`;
const WORD = new RegExp(`(?:${PART})+`, "gsu");
/** Some terminals write `\u{202f}` for the blank in the names of screenshots. */
const ESCAPED = /\\u\{([0-9a-f]{1,6})\}|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gisu;

/**
 * Finds the paths in text that has nothing else: quoted, with backslashes before blanks, or as
 * `file:` URLs; several stand apart by blanks.
 *
 * @param windows whether backslashes are part of paths
 * @returns none for other text
 */
export function pastedPaths(text: string, windows = false): PastedPath[] {
  const whole = text.trim();
  if (whole.length > LENGTH_MAX || !/^['"]?(?:\/|~|file:|[a-z]:|\\)/i.test(whole)) return [];
  const words = windows
    ? [...whole.matchAll(/"[^"]*"|'[^']*'|\S+/g)].map(([it]) => it)
    : [...whole.matchAll(WORD)].map(([it]) => it);
  const paths = words.map((written) => ({ path: plainPath(written, windows), written }));
  const fit = ({ path }: PastedPath) => BEGINNING.test(path) && ENDING.test(path);
  if (paths.length <= PATHS_MAX && paths.every(fit)) return paths.map(fromUrl);
  // Some terminals leave blanks as they are.
  const one = { path: whole, written: whole };
  return !whole.includes("\n") && fit(one) && paths.filter(fit).length <= 1 ? [fromUrl(one)] : [];
}

function plainPath(written: string, windows: boolean): string {
  if (windows) return written.replace(/^(['"])(.*)\1$/s, "$2");
  return written.replace(
    ESCAPED,
    (_, code, single, double, escaped) =>
      code === undefined
        ? single ?? double?.replace(/\\(.)/gsu, "$1") ?? escaped
        : String.fromCodePoint(Math.min(parseInt(code, 16), 0x10ffff)),
  );
}

function fromUrl({ path, written }: PastedPath): PastedPath {
  if (!/^file:\/\//i.test(path)) return { path, written };
  const url = URL.parse(path);
  if (url === null || !["", "localhost"].includes(url.hostname)) return { path, written };
  try {
    const plain = decodeURIComponent(url.pathname);
    return { path: /^\/[a-z]:\//i.test(plain) ? plain.slice(1) : plain, written };
  } catch {
    return { path, written };
  }
}
