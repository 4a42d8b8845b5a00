/** Markdown with YAML front matter, the common format of commands and skills. */
import { parse } from "@std/yaml";

/** The message says why a file cannot be used, without its path. */
export class BadMarkdown extends Error {}

export interface Markdown {
  /** Of the front matter. */
  fields: Record<string, unknown>;
  body: string;
}

/**
 * Splits a file into front matter and body. Front matter that is not valid YAML is read as lines of
 * `name: text`. @throws {BadMarkdown}
 */
export function parseMarkdown(text: string): Markdown {
  const lines = text.replace(/^\ufeff/, "").replaceAll(/\r\n?/g, "\n");
  if (!/^\s*---[ \t]*\n/.test(lines)) return { fields: {}, body: lines.trim() };
  const parts = lines.match(/^\s*---[ \t]*\n([^]*?)^---[ \t]*$([^]*)/m);
  if (parts === null) throw new BadMarkdown("its front matter has no closing line `---`");
  const [, head, body] = parts;
  return { fields: fieldsOf(head), body: body.trim() };
}

/** @throws {BadMarkdown} */
function fieldsOf(head: string): Record<string, unknown> {
  // YAML does not allow these tabs.
  const text = head.replaceAll(/^\t+/gm, (tabs) => "  ".repeat(tabs.length))
    .replaceAll(/^([\w-]+:)\t+/gm, "$1 ");
  const prose = proseOf(text);
  const strict = yamlOf(text);
  if (strict === undefined) {
    if (Object.keys(prose).length > 0) return prose;
    throw new BadMarkdown("its front matter must have lines such as `description: what it does`");
  }
  return { ...strict, ...textsOf(prose, strict) };
}

/** Undefined unless the text is a mapping. */
function yamlOf(text: string): Record<string, unknown> | undefined {
  let fields: unknown;
  try {
    fields = parse(text) ?? {};
  } catch {
    return undefined;
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return undefined;
  return fields as Record<string, unknown>;
}

/** Always text, even if YAML sees a list or a number. */
const TEXTS = new Set(["name", "description", "argument-hint"]);

function textsOf(prose: Record<string, string>, strict: Record<string, unknown>) {
  const isText = ([name, text]: [string, string]) => {
    if (!TEXTS.has(name) || text === "") return false;
    const value = strict[name];
    // In prose, a number sign does not start a comment.
    return typeof value !== "string" || name !== "name" && value === text.split(/\s+#/)[0];
  };
  return Object.fromEntries(Object.entries(prose).filter(isText));
}

/** Returns lines of `name: text`, with the indented lines after them. */
function proseOf(text: string): Record<string, string> {
  const fields: Record<string, string> = {};
  let name: string | undefined;
  for (const line of text.split("\n")) {
    const [, key, value] = line.match(/^([A-Za-z][\w-]*):(?:[ ]+(.*))?$/) ?? [];
    if (key !== undefined) fields[name = key] = (value ?? "").trim();
    else if (name !== undefined && /^\s/.test(line)) fields[name] += `\n${line.trim()}`;
    else if (line.trim() !== "" && !line.startsWith("#")) name = undefined;
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, plainText(value)]),
  );
}

/** Removes quotes and block markers. */
function plainText(value: string): string {
  const text = value.replace(/^[|>][+-]?\d*(?=\n|$)/, "").trim().replaceAll(/\n+/g, " ");
  const [, quote, inner] = text.match(/^(["'])(.*)\1$/s) ?? [];
  if (quote === '"') return inner.replaceAll('\\"', '"');
  return quote === undefined ? text : inner.replaceAll("''", "'");
}

/**
 * Returns a field's text, if any. @throws {BadMarkdown} unless it is text of up to `max`
 * characters.
 */
export function textField(
  { fields }: Markdown,
  name: string,
  max: number,
): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") {
    throw new BadMarkdown(`${name} in its front matter must be text; put it in quotes`);
  }
  if (value.length > max) {
    throw new BadMarkdown(`${name} in its front matter has more than ${max} characters`);
  }
  return value.trim() || undefined;
}
