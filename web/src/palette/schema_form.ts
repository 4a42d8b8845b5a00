/** Fields of a form from a JSON Schema, and the parameters that its inputs spell. */

/** The part of JSON Schema that the verbs' parameters use. */
export interface JsonSchema {
  type?: string;
  enum?: unknown[];
  items?: JsonSchema;
  description?: string;
  /** It is a secret. */
  writeOnly?: boolean;
  default?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

/** `lines` is a list of texts, one a line. */
export type FieldKind = "text" | "number" | "flag" | "choice" | "lines" | "json";

export interface FormField {
  name: string;
  kind: FieldKind;
  required: boolean;
  description?: string;
  /** Of a choice. */
  choices: string[];
  default?: unknown;
  secret?: boolean;
}

/** Names that mean more to a person as other words. */
const WORDS: Readonly<Record<string, string>> = {
  ac_id: "Criterion",
  args: "Arguments",
  cols: "Columns",
  seq: "Position",
  urls: "URLs",
  workdir: "Directory",
};

/** Endings of names that are units. */
const UNITS: Readonly<Record<string, string>> = {
  usd: "in USD",
  ms: "in ms",
  s: "in seconds",
};

/** A field's name in words: `since_seq` is "Since position". */
export function wordsOf(name: string): string {
  if (Object.hasOwn(WORDS, name)) return WORDS[name];
  const parts = name.split(/[_-]+/).filter((part) => part !== "");
  const last = parts.length > 1 ? parts.at(-1)! : "";
  if (last === "id") parts.pop();
  else if (Object.hasOwn(UNITS, last)) parts[parts.length - 1] = UNITS[last];
  const text = parts.map((part, n) =>
    n > 0 && Object.hasOwn(WORDS, part) ? WORDS[part].toLowerCase() : part
  ).join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The fields of an object's schema; required ones first. */
export function fieldsOf({ properties = {}, required = [] }: JsonSchema): FormField[] {
  return Object.entries(properties)
    .map(([name, schema]) => ({
      name,
      kind: kindOf(schema),
      required: required.includes(name),
      description: schema.description,
      choices: (schema.enum ?? []).map(String),
      default: schema.default,
      secret: schema.writeOnly,
    }))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

function kindOf({ type, enum: choices, items }: JsonSchema): FieldKind {
  if (choices !== undefined) return "choice";
  if (type === "array" && items?.type === "string") return "lines";
  if (type === "string") return "text";
  if (type === "integer" || type === "number") return "number";
  return type === "boolean" ? "flag" : "json";
}

/**
 * The parameters that the inputs spell; an empty input is left out.
 *
 * @throws {Error} naming the field whose text is no number, or no JSON.
 */
export function paramsOf(
  fields: readonly FormField[],
  values: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  for (const field of fields) {
    const text = values[field.name] ?? "";
    if (text !== "") params[field.name] = valueOf(field, text);
  }
  return params;
}

function valueOf({ name, kind }: FormField, text: string): unknown {
  switch (kind) {
    case "number": {
      const value = Number(text);
      if (Number.isNaN(value)) throw new Error(`${wordsOf(name)} must be a number`);
      return value;
    }
    case "flag":
      return text === "true";
    case "lines":
      return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new Error(`${wordsOf(name)} must be JSON`);
      }
    default:
      return text;
  }
}
