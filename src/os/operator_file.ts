/** Describes errors in the operator's files, with their place. */
import * as z from "zod";
import "../protocol/issue_text.ts";
import { SvcError } from "../protocol/errors.ts";
import { nearestOf } from "../base/nearest.ts";

export interface MisfitOptions {
  path: string;
  schema: z.ZodType;
  error: z.ZodError;
  /** Returns the line, from 1, of the key or list entry at this path. */
  lineOf(keys: readonly string[]): number;
}

/** Returns the error for the first misfit: file, line, key and the nearest known key. */
export function misfit({ path, schema, error, lineOf }: MisfitOptions): SvcError {
  const [issue] = error.issues;
  const keys = issue.path.map(String);
  if (issue.code !== "unrecognized_keys") {
    const where = keys.length > 0 ? `${keys.join(".")}: ` : "";
    return new SvcError("validation", `${path}:${lineOf(keys)}: ${where}${issue.message}`, {
      details: { issues: [{ path: keys, message: issue.message }] },
    });
  }
  const key = issue.keys[0];
  const known = knownKeys(schema, keys);
  const nearest = nearestOf(key, known);
  const full = [...keys, key];
  return new SvcError("validation", `${path}:${lineOf(full)}: unknown key ${full.join(".")}`, {
    hint: nearest
      ? `did you mean ${[...keys, nearest].join(".")}?`
      : `known keys: ${known.join(", ")}`,
  });
}

/** The keys allowed in the table at `path`. */
function knownKeys(schema: unknown, path: readonly string[]): string[] {
  for (const key of path) {
    const inner = unwrapped(schema);
    schema = inner instanceof z.ZodRecord
      ? inner.valueType
      : inner instanceof z.ZodArray
      ? inner.element
      : (inner as z.ZodObject).shape?.[key];
  }
  return Object.keys((unwrapped(schema) as z.ZodObject).shape ?? {});
}

function unwrapped(schema: unknown): unknown {
  while (
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional || schema instanceof z.ZodPipe
  ) {
    schema = schema instanceof z.ZodPipe ? schema.in : schema.unwrap();
  }
  return schema;
}
