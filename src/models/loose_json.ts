/** JSON as models and servers write it. */

/** An object with unknown members. */
export type Json = Record<string, unknown>;

/** Reports whether a value is an object, not a list. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses an object, even with unescaped line breaks in strings. */
export function parsed(text: string): Json | undefined {
  for (const each of [text, withEscapes(text)]) {
    try {
      const value = JSON.parse(each);
      return isObject(value) ? value : undefined;
    } catch {
      continue;
    }
  }
}

/** Converts numbers that were sent as text, also in nested objects. */
export function numbersIn(usage: Json): Json {
  return Object.fromEntries(
    Object.entries(usage).map(([name, value]) => {
      if (isObject(value)) return [name, numbersIn(value)];
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : NaN;
      return [name, Number.isFinite(number) ? number : value];
    }),
  );
}

/** Escapes the control characters inside the strings of a JSON text. */
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
