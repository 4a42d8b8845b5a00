/** JSON as models and servers write it. */

/** Escapes the control characters inside of the strings of a JSON text. */
export function withEscapes(text: string): string {
  let inside = false;
  let escaped = false;
  let out = "";
  for (const char of text) {
    if (inside && char < " ") out += JSON.stringify(char).slice(1, -1);
    else out += char;
    if (escaped) escaped = false;
    else if (char === "\\") escaped = inside;
    else if (char === '"') inside = !inside;
  }
  return out;
}
