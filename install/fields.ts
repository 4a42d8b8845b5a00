/**
 * Checks that no field of src/ is stated twice, in a zod schema and in a type:
 *
 *   deno run --allow-read --allow-env install/fields.ts
 *
 * A schema is the object in `z.object({…})`, `z.strictObject({…})`, `z.looseObject({…})` and
 * `.extend({…})`. A type is the body of an `interface` or a type literal, wherever it is written.
 * Only keys that are written there count: what comes from a spread, `extends` or `&` is stated
 * elsewhere, and methods are no data. A type restates a schema if
 *
 * - both have the same keys, at least {@linkcode EQUAL_MIN}; or
 * - all keys of one are keys of the other, at least {@linkcode SHARED_MIN} and
 *   {@linkcode SHARED_SHARE} of the larger one's. Fewer are things that look alike, such as an event
 *   about an entry and the entry.
 *
 * To satisfy it, infer the type: `z.output<ReturnType<typeof entrySchema>>`. Where two lists must stay
 * apart, `// fields-ok: <reason>` on the line above the type or the schema says why; a comment that
 * is no longer needed is refused as well.
 */
import ts from "typescript";
import { dirname, fromFileUrl, join, relative } from "@std/path";
import { walk } from "@std/fs";

const EQUAL_MIN = 3;
const SHARED_MIN = 4;
const SHARED_SHARE = 3 / 4;
const MAKERS = ["object", "strictObject", "looseObject", "extend"];
const EXCEPTION = /^\s*\/\/ fields-ok:(.*)$/;

/** The keys that a schema or a type states. */
interface Stated {
  file: string;
  /** Counted from 1. */
  line: number;
  /** Of a type; a literal has none. */
  name?: string;
  keys: ReadonlySet<string>;
}

/** A line with a comment that allows the type below it to restate a schema, or the other way round. */
interface Exception {
  file: string;
  line: number;
  reason: string;
}

/** What the check reads in a file. */
export interface FieldsOfFile {
  schemas: Stated[];
  types: Stated[];
  exceptions: Exception[];
}

/** Returns the schemas, types and exceptions in a file. @param file its name in messages. */
export function fieldsOf(file: string, text: string): FieldsOfFile {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found: FieldsOfFile = { schemas: [], types: [], exceptions: [] };
  const lineOf = (node: ts.Node) =>
    source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  const visit = (node: ts.Node) => {
    if (ts.isCallExpression(node)) {
      const keys = schemaKeys(node);
      if (keys !== undefined) found.schemas.push({ file, line: lineOf(node.arguments[0]), keys });
    } else if (ts.isInterfaceDeclaration(node)) {
      const { members, name } = node;
      found.types.push({ file, line: lineOf(node), name: name.text, keys: typeKeys(members) });
    } else if (ts.isTypeLiteralNode(node)) {
      found.types.push({ file, line: lineOf(node), keys: typeKeys(node.members) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  text.split("\n").forEach((it, at) => {
    const [, reason] = it.match(EXCEPTION) ?? [];
    if (reason !== undefined) {
      found.exceptions.push({ file, line: at + 1, reason: reason.trim() });
    }
  });
  return found;
}

/** @returns undefined for a call that does not make an object schema of a literal. */
function schemaKeys({ expression, arguments: [first] }: ts.CallExpression) {
  if (!ts.isPropertyAccessExpression(expression)) return undefined;
  if (!MAKERS.includes(expression.name.text) || first === undefined) return undefined;
  if (!ts.isObjectLiteralExpression(first)) return undefined;
  return new Set(first.properties.flatMap(({ name }) => textOf(name) ?? []));
}

function typeKeys(members: readonly ts.TypeElement[]): Set<string> {
  const data = members.filter((it): it is ts.PropertySignature =>
    ts.isPropertySignature(it) && (it.type === undefined || !ts.isFunctionTypeNode(it.type))
  );
  return new Set(data.flatMap(({ name }) => textOf(name) ?? []));
}

function textOf(name: ts.PropertyName | undefined): string | undefined {
  if (name === undefined) return undefined;
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) ? name.text : undefined;
}

/** Reports whether one of two lists of keys restates the other. */
function restates(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  if (!small.isSubsetOf(large)) return false;
  if (small.size === large.size) return small.size >= EQUAL_MIN;
  return small.size >= SHARED_MIN && small.size >= SHARED_SHARE * large.size;
}

/** Returns what is wrong in files, one line each. */
export function restatedIn(files: readonly FieldsOfFile[]): string[] {
  const schemas = files.flatMap((it) => it.schemas);
  const exceptions = files.flatMap((it) => it.exceptions);
  const needed = new Set<Exception>();
  const wrong: string[] = [];
  const above = (below: Stated) =>
    exceptions.find(({ file, line }) => file === below.file && line === below.line - 1);
  for (const type of files.flatMap((it) => it.types)) {
    const restated = schemas.filter((schema) => {
      if (!restates(type.keys, schema.keys)) return false;
      const allowed = above(schema);
      if (allowed !== undefined) needed.add(allowed);
      return allowed === undefined;
    });
    if (restated.length === 0) continue;
    const allowed = above(type);
    if (allowed !== undefined) needed.add(allowed);
    else {
      const places = restated.map(({ file, line }) => `${file}:${line}`).join(", ");
      const what = type.name ?? "a type";
      wrong.push(`${type.file}:${type.line}: ${what} restates the schema in ${places}`);
    }
  }
  for (const exception of exceptions) {
    const place = `${exception.file}:${exception.line}`;
    if (!needed.has(exception)) wrong.push(`${place}: nothing below it restates a schema`);
    else if (exception.reason === "") wrong.push(`${place}: the reason is missing`);
  }
  return wrong;
}

/** @throws {Error} listing the types of `src` that restate a schema. */
export async function requireStatedOnce(root: string): Promise<void> {
  const files: FieldsOfFile[] = [];
  for await (const { path } of walk(join(root, "src"), { includeDirs: false, exts: [".ts"] })) {
    if (path.endsWith("_test.ts") || path.endsWith(".d.ts") || path.includes("/testdata/")) {
      continue;
    }
    files.push(fieldsOf(relative(root, path), await Deno.readTextFile(path)));
  }
  const wrong = restatedIn(files);
  if (wrong.length === 0) return;
  throw new Error(
    `fields that are stated twice:\n${wrong.sort().join("\n")}\n` +
      "hint: infer the type, `z.output<ReturnType<typeof xSchema>>`; see install/fields.ts",
  );
}

if (import.meta.main) await requireStatedOnce(dirname(dirname(fromFileUrl(import.meta.url))));
