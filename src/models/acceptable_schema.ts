/**
 * Reduces the schemas of tools to what every provider accepts. Each has rules of its own and checks
 * all schemas in each request: one refused schema would end the conversation.
 */
import { acceptableText } from "./acceptable.ts";
import { isObject, type Json } from "./loose_json.ts";

export interface AcceptableSchema {
  schema: Record<string, unknown>;
  /** For the tool's description: what the schema no longer says. */
  hint?: string;
  /** Original names of renamed properties, by their new names. */
  renamed: ReadonlyMap<string, string>;
}

/** Maximum depth, reduced for a long schema; below it any value is allowed. */
const DEPTHS = [16, 6, 3];
/** Maximum number of subschemas after references are resolved; further ones allow any value. */
const NODES_MAX = 2_000;
/** Anthropic's rule for property names. */
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const PROPERTY_MAX = 64;

const TYPES: Record<string, string> = {
  object: "object",
  dict: "object",
  map: "object",
  array: "array",
  list: "array",
  string: "string",
  str: "string",
  text: "string",
  number: "number",
  float: "number",
  double: "number",
  integer: "integer",
  int: "integer",
  boolean: "boolean",
  bool: "boolean",
  null: "null",
  none: "null",
};

const TEXTS = ["title", "description", "format"];

/**
 * Returns an acceptable schema that allows at least the same values.
 *
 * @param max length of its JSON; inner parts of a longer one allow any value
 * @throws {Error} with the reason, for one that is not about an object, or too long
 */
export function acceptableSchema(given: unknown, max = Infinity): AcceptableSchema {
  for (const depth of DEPTHS) {
    const conversion = new Conversion(given, depth);
    const schema = conversion.root();
    const { hint, renamed } = conversion;
    if (JSON.stringify(schema).length <= max) return { schema, hint, renamed };
  }
  throw new Error("its schema is too long for a model");
}

/** Restores the original property names in a call's arguments. */
export function originalNames(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (renamed.size === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => originalNames(each, renamed));
  return Object.fromEntries(
    Object.entries(value).map((
      [name, part],
    ) => [renamed.get(name) ?? name, originalNames(part, renamed)]),
  );
}

class Conversion {
  readonly renamed = new Map<string, string>();
  hint: string | undefined;
  readonly #given: unknown;
  readonly #depth_max: number;
  #names = new Map<string, string>();
  #nodes = 0;

  constructor(given: unknown, depth_max: number) {
    this.#given = given;
    this.#depth_max = depth_max;
  }

  root(): Json {
    if (this.#given === undefined || this.#given === null || this.#given === true) return empty();
    if (!isObject(this.#given)) throw new Error("its schema is not an object");
    const refs: string[] = [];
    const whole = this.#resolved(this.#given, refs);
    const { anyOf: _any, oneOf: _one, ...root } = this.#merged(whole, refs);
    const types = typesOf(root);
    if (types.length > 0 && !types.includes("object")) {
      throw new Error(`its schema is for ${types.join(" or ")} instead of an object`);
    }
    const alternatives = this.#alternatives(whole, refs);
    this.hint = hintOf(alternatives);
    const object = this.#object(alternatives.reduce(united, root), 1, refs);
    return { ...this.#told(root), ...empty(), ...object };
  }

  /** Returns the alternatives at the top, where providers refuse them. */
  #alternatives(root: Json, refs: readonly string[]): Json[] {
    const all = [root.anyOf, root.oneOf].find((it) => Array.isArray(it) && it.length > 0);
    if (all === undefined) return [];
    return (all as unknown[]).filter(isObject)
      .map((each) => this.#merged(this.#resolved(each, [...refs]), refs))
      .filter((each) => typesOf(each).every((type) => type === "object"));
  }

  #schema(given: unknown, depth: number, refs: readonly string[]): Json {
    if (!isObject(given) || depth > this.#depth_max || ++this.#nodes > NODES_MAX) return {};
    const seen = [...refs];
    const schema = this.#merged(this.#resolved(given, seen), seen);
    const told = this.#told(schema);
    const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray);
    if (alternatives !== undefined) {
      const { anyOf: _any, oneOf: _one, ...base } = schema;
      const branches = (alternatives as unknown[]).filter((it) => it !== false)
        .map((each) =>
          this.#schema(isObject(each) ? inherited(base, each) : base, depth + 1, seen)
        );
      if (branches.some((branch) => Object.keys(branch).length === 0)) return told;
      if (branches.length > 1) return { ...told, anyOf: branches };
      if (branches.length === 1) return { ...branches[0], ...told };
    }
    const types = typesOf(schema);
    if (types.length === 0) types.push(...impliedTypes(schema));
    if (schema.nullable === true && types.length > 0 && !types.includes("null")) types.push("null");
    // Gemini refuses a list of types.
    if (types.length > 1) {
      return { ...told, anyOf: types.map((type) => this.#ofType(schema, type, depth, seen)) };
    }
    return { ...told, ...this.#ofType(schema, types[0], depth, seen) };
  }

  #ofType(
    schema: Json,
    type: string | undefined,
    depth: number,
    refs: readonly string[],
  ): Json {
    const plain: Json = type === undefined ? {} : { type };
    const values = enumOf(schema, type);
    if (values !== undefined) plain.enum = values;
    if (type === "null") return { type };
    if (type === "object") return { ...plain, ...this.#object(schema, depth, refs) };
    if (type === "array") {
      return {
        ...plain,
        ...sized(schema, ["minItems", "maxItems"]),
        ...this.#items(schema, depth, refs),
      };
    }
    return { ...plain, ...limits(schema, type) };
  }

  #items(schema: Json, depth: number, refs: readonly string[]): Json {
    const tuple = [schema.prefixItems, schema.items].find(Array.isArray) as unknown[] | undefined;
    const unique = schema.uniqueItems === true ? { uniqueItems: true } : {};
    // Gemini and OpenAI refuse an array without it.
    if (tuple === undefined) {
      return { ...unique, items: this.#schema(schema.items, depth + 1, refs) };
    }
    const places = tuple.map((each) => this.#schema(each, depth + 1, refs));
    const open = places.length === 0 || places.some((place) => Object.keys(place).length === 0);
    return { ...unique, items: open ? {} : places.length === 1 ? places[0] : { anyOf: places } };
  }

  #object(schema: Json, depth: number, refs: readonly string[]): Json {
    const given = isObject(schema.properties) ? schema.properties : {};
    const properties: Json = {};
    const required = new Set(namesIn(schema.required));
    for (const [name, each] of Object.entries(given)) {
      // A list of required names, one level too deep.
      if (Array.isArray(each)) {
        if (name === "required") namesIn(each).forEach((it) => required.add(it));
        continue;
      }
      if (isObject(each) && each.required === true) required.add(name);
      properties[this.#named(name, given)] = this.#schema(each, depth + 1, refs);
    }
    // Gemini refuses a required property that is missing.
    for (const name of required) properties[this.#named(name, given)] ??= {};
    const needed = [...required].map((name) => this.#named(name, given));
    const { additionalProperties: more } = schema;
    const closed = more === false && !isObject(schema.patternProperties);
    return {
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
      ...(needed.length > 0 ? { required: needed } : {}),
      ...sized(schema, ["minProperties", "maxProperties"]),
      ...(closed ? { additionalProperties: false } : {}),
      ...(isObject(more) ? { additionalProperties: this.#schema(more, depth + 1, refs) } : {}),
    };
  }

  /** Returns an acceptable name of a property, the same throughout the schema. */
  #named(name: string, siblings: Json): string {
    if (PROPERTY_NAME.test(name)) return name;
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const base = name.replaceAll(/[^a-zA-Z0-9_.-]+/g, "_").slice(0, PROPERTY_MAX - 4) || "_";
    let safe = base;
    for (let n = 2; this.renamed.has(safe) || Object.hasOwn(siblings, safe); n++) {
      safe = `${base}_${n}`;
    }
    this.renamed.set(safe, name);
    this.#names.set(name, safe);
    return safe;
  }

  #told(schema: Json): Json {
    const told: Json = {};
    for (const name of TEXTS) {
      const text = schema[name];
      if (typeof text === "string" && text !== "") told[name] = acceptableText(text);
    }
    if (Object.hasOwn(schema, "default") && isSmall(schema.default)) told.default = schema.default;
    return told;
  }

  /** Follows references within the schema; others allow any value. @param refs those followed */
  #resolved(schema: Json, refs: string[]): Json {
    let current = schema;
    while (typeof current.$ref === "string") {
      const { $ref: ref, ...rest } = current;
      const target = refs.includes(ref as string)
        ? undefined
        : pointedAt(this.#given, ref as string);
      refs.push(ref as string);
      current = isObject(target) ? { ...target, ...rest } : rest;
    }
    return current;
  }

  /** Merges the parts of `allOf` into their schema. */
  #merged(schema: Json, refs: readonly string[]): Json {
    if (!Array.isArray(schema.allOf)) return schema;
    const { allOf, ...rest } = schema;
    return (allOf as unknown[]).filter(isObject).slice(0, NODES_MAX).reduce<Json>((one, part) => {
      const other = ++this.#nodes > NODES_MAX
        ? {}
        : this.#merged(this.#resolved(part, [...refs]), refs);
      return { ...other, ...one, ...both(one, other) };
    }, rest);
  }
}

function empty(): Json {
  return { type: "object", properties: {} };
}

function isSmall(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function typesOf({ type }: Json): string[] {
  const named = (Array.isArray(type) ? type : [type])
    .flatMap((each) => typeof each === "string" ? TYPES[each.toLowerCase()] ?? [] : []);
  return [...new Set(named)];
}

/** Returns the types of a schema that names none. */
function impliedTypes(schema: Json): string[] {
  if (isObject(schema.properties)) return ["object"];
  if (schema.items !== undefined || schema.prefixItems !== undefined) return ["array"];
  const values = enumOf(schema, undefined) ?? [];
  return [...new Set(values.map((value) => value === null ? "null" : typeof value))];
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

/** Returns the allowed values of the given type. */
function enumOf(schema: Json, type: string | undefined): unknown[] | undefined {
  const given = Object.hasOwn(schema, "const") ? [schema.const] : schema.enum;
  if (!Array.isArray(given)) return undefined;
  const values = given.filter((value) =>
    isSmall(value) && (type === undefined || isOf(value, type))
  );
  return values.length === 0
    ? undefined
    : [...new Set(values)].map((value) =>
      typeof value === "string" ? acceptableText(value) : value
    );
}

function isOf(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  const own: string = value === null ? "null" : typeof value;
  return own === type;
}

function limits(schema: Json, type: string | undefined): Json {
  if (type === "string") {
    return { ...sized(schema, ["minLength", "maxLength"]), ...anchored(schema) };
  }
  if (type !== "number" && type !== "integer") return {};
  const numbers = sized(schema, ["minimum", "maximum", "multipleOf"]);
  // A flag in older drafts, a number in newer ones.
  for (
    const [exclusive, limit] of [["exclusiveMinimum", "minimum"], ["exclusiveMaximum", "maximum"]]
  ) {
    if (typeof schema[exclusive] === "number") numbers[exclusive] = schema[exclusive];
    if (schema[exclusive] === true && limit in numbers) {
      numbers[exclusive] = numbers[limit];
      delete numbers[limit];
    }
  }
  return numbers;
}

function sized(schema: Json, names: readonly string[]): Json {
  return Object.fromEntries(
    names.filter((name) => Number.isFinite(schema[name]))
      .map((name) => [name, schema[name]]),
  );
}

/** llama.cpp refuses patterns with lookaround or without anchors. */
function anchored({ pattern }: Json): Json {
  if (typeof pattern !== "string" || !/^\^.*\$$/s.test(pattern) || pattern.includes("(?")) {
    return {};
  }
  try {
    new RegExp(pattern, "u");
    return { pattern };
  } catch {
    return {};
  }
}

/** Combines what two schemas that must both hold say about an object. */
function both(one: Json, other: Json): Json {
  const properties = { ...asSchema(other.properties), ...asSchema(one.properties) };
  const required = [...new Set([...namesIn(one.required), ...namesIn(other.required)])];
  return {
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
    // One part may allow what the other does not name.
    additionalProperties: undefined,
  };
}

/** Returns an object's schema that allows the values of both alternatives. */
function united(base: Json, alternative: Json): Json {
  const properties = { ...asSchema(base.properties) };
  for (const [name, schema] of Object.entries(asSchema(alternative.properties))) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const same = known === undefined || JSON.stringify(known) === JSON.stringify(schema);
    properties[name] = same ? schema : { anyOf: [...branchesOf(known), schema] };
  }
  return { ...base, properties, additionalProperties: undefined };
}

function branchesOf(schema: unknown): unknown[] {
  const one = isObject(schema) && Object.keys(schema).length === 1 ? schema.anyOf : undefined;
  return Array.isArray(one) ? one : [schema];
}

function asSchema(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** Adds to an alternative what holds for all of them. */
function inherited(base: Json, alternative: Json): Json {
  const { title: _title, description: _description, default: _default, ...rest } = base;
  return { ...rest, ...alternative, ...both(alternative, rest) };
}

/** Says which parameters belong together. */
function hintOf(alternatives: readonly Json[]): string | undefined {
  const groups = alternatives.map(({ required }) => namesIn(required))
    .filter((names) => names.length > 0).map((names) => names.join(" and "));
  const distinct = [...new Set(groups)];
  return distinct.length < 2 ? undefined : `Give ${distinct.join(", or ")}.`;
}

/** Returns the target of a reference within a schema, if it is one. */
function pointedAt(root: unknown, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  return ref.split("/").slice(1).reduce<unknown>((at, part) => {
    const name = unescaped(part);
    return typeof at === "object" && at !== null && Object.hasOwn(at, name)
      ? (at as Json)[name]
      : undefined;
  }, root);
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}
