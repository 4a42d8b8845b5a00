/** Reads a server's tools one by one, so that an unusual one costs at most itself. */
import { acceptableText } from "../../models/acceptable.ts";
import { acceptableSchema } from "../../models/acceptable_schema.ts";
import { isObject } from "../../models/loose_json.ts";
import { messageOf } from "../../protocol/errors.ts";

/** A tool as its server describes it, and as models see it. */
export interface RemoteTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: unknown;
  annotations?: Record<string, unknown>;
  offered: { description: string; input_schema: Record<string, unknown> };
  /** Original parameter names by the names that models see. */
  renamed: ReadonlyMap<string, string>;
}

export interface Listed<T> {
  tools: T[];
  /** Why tools are missing. */
  problems: string[];
}

/**
 * The largest description and schema of a tool, in characters of JSON: each model call contains
 * them.
 */
const SPEC_MAX = 64 * 1024;
const NAME_SHOWN_MAX = 80;
const SCHEMA_ORDER = ["type", "properties", "required"];
const HINT_ORDER = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/** Reads the tools of a server. @param mask masks its credentials in a text */
export function readTools(
  { tools: given, problems }: Listed<unknown>,
  mask: (text: string) => string,
): Listed<RemoteTool> {
  const tools: RemoteTool[] = [];
  const left_out: string[] = [];
  const names = new Set<string>();
  for (const raw of given) {
    try {
      const tool = readTool(raw, mask);
      if (names.has(tool.name)) throw new Error("it is listed twice");
      names.add(tool.name);
      tools.push(tool);
    } catch (error) {
      left_out.push(`its tool ${mask(nameOf(raw))} is left out: ${messageOf(error)}`);
    }
  }
  return { tools, problems: [...problems.map(mask), ...left_out] };
}

/** @throws {Error} with the reason, for a tool that cannot be offered */
function readTool(raw: unknown, mask: (text: string) => string): RemoteTool {
  const { name, title, description, inputSchema, annotations } = maskStrings(raw, mask) as Record<
    string,
    unknown
  >;
  if (typeof name !== "string" || name === "") throw new Error("it has no name");
  const told = [description, title, name].find((text) => typeof text === "string" && text !== "");
  const { schema, hint, renamed } = acceptableSchema(inputSchema, SPEC_MAX);
  const text = acceptableText([told, hint].filter(Boolean).join("\n\n"));
  if (text.length > SPEC_MAX) throw new Error("its description is too long for a model");
  return {
    name,
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(inputSchema === undefined ? {} : { inputSchema: inOrder(inputSchema, SCHEMA_ORDER) }),
    ...(isObject(annotations) ? { annotations: inOrder(annotations, HINT_ORDER) } : {}),
    offered: { description: text, input_schema: schema },
    renamed,
  };
}

/** Puts members in a fixed order, because a permanent approval is bound to this text. */
function inOrder<T>(value: T, order: readonly string[]): T {
  if (!isObject(value)) return value;
  const first = order.filter((name) => Object.hasOwn(value, name));
  return { ...Object.fromEntries(first.map((name) => [name, value[name]])), ...value };
}

function nameOf(raw: unknown): string {
  const name = isObject(raw) && typeof raw.name === "string" ? raw.name : "without a name";
  return name.slice(0, NAME_SHOWN_MAX);
}

/** Returns a copy with all texts masked. @throws {Error} for a value that is nested too deeply */
export function maskStrings<T>(value: T, mask: (text: string) => string): T {
  try {
    return JSON.parse(
      JSON.stringify(value),
      (_, part) => typeof part === "string" ? mask(part) : part,
    );
  } catch (cause) {
    throw new Error("it is nested too deeply", { cause });
  }
}
