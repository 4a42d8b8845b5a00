/** Markdown files with YAML front matter, the public format of commands and skills. */
import { parse } from "@std/yaml";
import { messageOf } from "../../protocol/errors.ts";

/** A Markdown file that cannot be used. The message says why, without the path. */
export class BadMarkdown extends Error {}

export interface Markdown {
  /** The fields of the front matter, as YAML has them. */
  fields: Record<string, unknown>;
  body: string;
}

/** Matches hints such as `[file] [line]`, which many files have and which are not YAML. */
const HINT = /^argument-hint:[ \t]*(.*)$/m;

/**
 * Splits a file into its front matter, if it has any, and its body.
 *
 * @throws {BadMarkdown}
 */
export function parseMarkdown(text: string): Markdown {
  if (text.includes("\0")) throw new BadMarkdown("is not text");
  const lines = text.replaceAll("\r\n", "\n");
  if (!/^---[ \t]*\n/.test(lines)) return { fields: {}, body: lines.trim() };
  const parts = lines.match(/^---[ \t]*\n([^]*?)^---[ \t]*$([^]*)/m);
  if (parts === null) throw new BadMarkdown("its front matter has no closing line `---`");
  const [, yaml, body] = parts;
  const hint = yaml.match(HINT)?.[1].trim().replace(/^(["'])(.*)\1$/, "$2");
  let fields: unknown;
  try {
    fields = parse(yaml.replace(HINT, "")) ?? {};
  } catch (error) {
    const [message] = messageOf(error).split("\n");
    throw new BadMarkdown(
      `its front matter is not YAML: ${message}; put quotes around text with a colon`,
    );
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new BadMarkdown("its front matter must have lines such as `description: what it does`");
  }
  const more = hint ? { "argument-hint": hint } : {};
  return { fields: { ...fields, ...more }, body: body.trim() };
}

/**
 * Returns a field's text.
 *
 * @returns `undefined` when it is missing or empty
 * @throws {BadMarkdown} when it is not text, or longer than `max` characters
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
