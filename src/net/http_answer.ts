/** Heads of answers (RFC 9112). */

export interface AnswerHead {
  status: number;
  /** In order, with lower case names. */
  headers: readonly (readonly [name: string, value: string])[];
}

/** Parses a head with its final empty line; undefined if invalid. */
export function parseAnswerHead(bytes: Uint8Array): AnswerHead | undefined {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  if (!text.endsWith("\r\n\r\n")) return undefined;
  const [first, ...lines] = text.slice(0, -4).split("\r\n");
  const line = /^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |$)/.exec(first);
  if (line === null) return undefined;
  const headers: [string, string][] = [];
  for (const each of lines) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*$/.exec(each);
    if (match === null) return undefined;
    headers.push([match[1].toLowerCase(), match[2]]);
  }
  return { status: Number(line[1]), headers };
}

/** Returns a header's only value; undefined if it is missing or there are several. */
export function headerOf({ headers }: AnswerHead, wanted: string): string | undefined {
  const values = headers.filter(([name]) => name === wanted).map(([, value]) => value);
  return values.length === 1 ? values[0] : undefined;
}
