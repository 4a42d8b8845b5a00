/**
 * Reads arguments that clearly mean what a tool's schema asks for in another notation. Models write
 * lists, objects, numbers and booleans as text, `null` for omitted values, and the parameter names
 * of other agents. Real text stays as it is.
 */
import { isObject, type Json, withEscapes } from "../models/loose_json.ts";

/** Short notes about what was read differently. */
type Taken = string[];

/** Parameter names of other agents, without case and separators, by ours. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  path: ["filepath", "file", "filename", "targetfile", "absolutepath", "relativepath", "directory"],
  content: ["contents", "text", "filetext", "filecontent"],
  old_text: ["oldstring", "oldstr", "old", "search"],
  new_text: ["newstring", "newstr", "new", "replace", "replacement"],
  command: ["cmd", "commandline"],
  pattern: ["regex", "query", "globpattern"],
  patch: ["patchtext", "input", "diff"],
  url: ["uri", "link", "address"],
  query: ["searchquery", "searchterm", "q"],
};
/** Maximum depth of conversions. */
const DEPTH_MAX = 8;

/**
 * Returns the arguments as a tool's schema has them.
 *
 * @param own whether its parameter names are ours, so that other agents' names can be recognized
 * @param schema unknown parts of it change nothing
 * @returns `taken`: what was read differently; empty if the arguments are unchanged
 */
export function looseArgs(
  args: unknown,
  schema: Json,
  { own }: { own: boolean },
): { args: unknown; taken: readonly string[] } {
  const taken: Taken = [];
  const whole = asObject(args);
  if (whole !== args) taken.push(`the arguments: ${wordFor(args)} for an object`);
  const converted = convert(whole, { type: "object", ...schema }, "", own, taken, 0);
  return taken.length === 0 ? { args, taken } : { args: converted, taken };
}

/** Arguments may be encoded twice, missing, or in a list of one. */
function asObject(args: unknown): unknown {
  if (args === null || args === undefined) return {};
  if (Array.isArray(args) && args.length === 1 && isObject(args[0])) return args[0];
  const inner = typeof args === "string" ? decoded(args) : undefined;
  return isObject(inner) ? inner : args;
}

function convert(
  value: unknown,
  schema: unknown,
  where: string,
  own: boolean,
  taken: Taken,
  depth: number,
): unknown {
  if (!isObject(schema) || depth > DEPTH_MAX) return value;
  const types = typesOf(schema);
  if (types === undefined) return value;
  let read = value;
  if (!types.some((type) => isOf(value, type))) {
    for (const type of types) {
      const other = converted(value, type, schema);
      if (other === undefined) continue;
      taken.push(`${where}: ${wordFor(value)} for ${ARTICLES[type] ?? type}`);
      read = other;
      break;
    }
  }
  read = inCase(read, schema, where, taken);
  if (Array.isArray(read) && types.includes("array")) {
    const items = read.map((item, at) =>
      convert(item, schema.items, `${where}[${at}]`, own, taken, depth + 1)
    );
    return items.some((item, at) => item !== (read as unknown[])[at]) ? items : read;
  }
  if (isObject(read) && types.includes("object")) {
    return members(read, schema, where, own, taken, depth);
  }
  return read;
}

/** Converts the members of an object, and omits those that stand for nothing. */
function members(
  value: Json,
  schema: Json,
  where: string,
  own: boolean,
  taken: Taken,
  depth: number,
): Json {
  const { properties, required } = schema;
  if (!isObject(properties)) return value;
  const needed = new Set(Array.isArray(required) ? required : []);
  const named = own ? ourNames(value, properties, where, taken) : value;
  let changed = named !== value;
  const out: Json = {};
  for (const [name, given] of Object.entries(named)) {
    const of = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const place = where === "" ? name : `${where}.${name}`;
    if (of !== undefined && !needed.has(name) && isNothing(given, of)) {
      taken.push(`${place}: ${wordFor(given)} for nothing`);
      changed = true;
      continue;
    }
    const read = convert(given, of, place, own, taken, depth + 1);
    changed ||= read !== given;
    out[name] = read;
  }
  return changed ? out : value;
}

/** Uses our names for parameters, if exactly one missing one is meant. */
function ourNames(value: Json, properties: Json, where: string, taken: Taken): Json {
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  if (unknown.length === 0) return value;
  const meant = unknown.flatMap((name) => {
    const plain = plainName(name);
    const own = Object.keys(properties).filter((it) =>
      !Object.hasOwn(value, it) && (plainName(it) === plain || ALIASES[it]?.includes(plain))
    );
    return own.length === 1 ? [[name, own[0]] as const] : [];
  });
  // Two that mean the same one are ambiguous.
  const ours = new Map(meant.filter(([, own]) => meant.filter((it) => it[1] === own).length === 1));
  if (ours.size === 0) return value;
  for (const [name, own] of ours) {
    taken.push(`${where === "" ? own : `${where}.${own}`}: written as ${JSON.stringify(name)}`);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, given]) => [ours.get(name) ?? name, given]),
  );
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Whether an optional value stands for an omitted one. */
function isNothing(value: unknown, schema: unknown): boolean {
  const types = isObject(schema) ? typesOf(schema) : undefined;
  if (types === undefined || !isObject(schema)) return false;
  if (value === null) return !types.includes("null");
  if (value === "") return !types.includes("string") || Number(schema.minLength ?? 0) > 0;
  const empty = Array.isArray(value) ? value.length === 0 : value === "[]";
  return empty && types.includes("array") && Number(schema.minItems ?? 0) > 0;
}

/** Converts a value of another type, if its meaning is clear. */
function converted(value: unknown, type: string, schema: Json): unknown {
  switch (type) {
    case "array":
      return asList(value, schema.items);
    case "object": {
      const inner = typeof value === "string" ? decoded(value) : undefined;
      return isObject(inner) ? inner : undefined;
    }
    case "integer":
    case "number": {
      if (typeof value !== "string" || !/^\s*-?\d+(\.\d+)?\s*$/.test(value)) return undefined;
      const number = Number(value);
      const fits = type === "integer" ? Number.isSafeInteger(number) : Number.isFinite(number);
      return fits ? number : undefined;
    }
    case "boolean": {
      const word = typeof value === "string" ? value.trim().toLowerCase() : "";
      return word === "true" ? true : word === "false" ? false : undefined;
    }
    case "string":
      return Number.isSafeInteger(value) || typeof value === "boolean" ? `${value}` : undefined;
  }
}

function asList(value: unknown, items: unknown): unknown[] | undefined {
  const inner = typeof value === "string" ? decoded(value) : value;
  if (Array.isArray(inner)) return inner;
  const types = isObject(items) ? typesOf(items) : undefined;
  if (types === undefined || value === null) return undefined;
  // A single item; text that only looks like another type stays text.
  const item = types.includes("string") && typeof value === "string" ? value : inner;
  return item !== undefined && types.some((type) => isOf(item, type)) ? [item] : undefined;
}

/** Corrects the case of a choice, if only one is meant. */
function inCase(value: unknown, schema: Json, where: string, taken: Taken): unknown {
  const { enum: choices } = schema;
  if (typeof value !== "string" || !Array.isArray(choices) || choices.includes(value)) return value;
  const meant = choices.filter((choice) =>
    typeof choice === "string" && plainName(choice) === plainName(value)
  );
  if (meant.length !== 1) return value;
  taken.push(`${where}: ${JSON.stringify(value)} for ${JSON.stringify(meant[0])}`);
  return meant[0];
}

/** The types that a schema names itself, or in its choices. */
function typesOf({ type, anyOf, oneOf, enum: choices }: Json): string[] | undefined {
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((it) => typeof it === "string");
  const ways = Array.isArray(anyOf) ? anyOf : oneOf;
  if (Array.isArray(ways)) {
    const types = ways.map((way) => isObject(way) ? typesOf(way) : undefined);
    return types.every((it) => it !== undefined) ? types.flat() : undefined;
  }
  return Array.isArray(choices) && choices.every((it) => typeof it === "string")
    ? ["string"]
    : undefined;
}

function isOf(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    default:
      return type === "string" && typeof value === "string";
  }
}

function decoded(text: string): unknown {
  if (!/^\s*["[{]/.test(text)) return undefined;
  for (const each of [text, withEscapes(text)]) {
    try {
      const value = JSON.parse(each);
      // Encoded more than once.
      return typeof value === "string" && value !== text ? decoded(value) ?? value : value;
    } catch {
      continue;
    }
  }
}

const ARTICLES: Readonly<Record<string, string>> = {
  array: "a list",
  object: "an object",
  integer: "a number",
  number: "a number",
  boolean: "true or false",
  string: "text",
};

function wordFor(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (value === "") return "empty text";
  return typeof value === "object" ? "an object" : typeof value === "string" ? "text" : `${value}`;
}
