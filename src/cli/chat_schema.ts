/** `svc chat -p --schema`: the answer must be JSON that fits a JSON Schema. */
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv-provider.js";
import { parse } from "@std/jsonc";
import { messageOf } from "../protocol/errors.ts";
import { UsageError } from "./define.ts";

export interface Checked {
  /** The answer, if it is JSON. */
  value?: unknown;
  /** What is wrong with it; empty if it fits. */
  problems: string[];
}

export interface AnswerCheck {
  /** Sent to the model with the prompt. */
  readonly instruction: string;
  check(answer: string): Checked;
}

/** An answer that is one code block, which models write in spite of the instruction. */
const FENCED = /^```\w*\n([\s\S]*?)\n?```$/;

/** Reads a schema. @throws {UsageError} for a file that is missing, not JSON or not a schema. */
export function readSchema(path: string): AnswerCheck {
  const schema = schemaIn(path);
  const validate = validatorOf(schema, path);
  return {
    instruction:
      "End with an answer that is one JSON value, without a code fence and without text " +
      `around it. It must be valid against this JSON Schema:\n\n${JSON.stringify(schema)}`,
    check(answer) {
      const text = answer.trim();
      let value;
      try {
        value = JSON.parse(text.match(FENCED)?.[1] ?? text);
      } catch (error) {
        return { problems: [`the answer is not JSON: ${messageOf(error)}`] };
      }
      const { errorMessage } = validate(value);
      return { value, problems: errorMessage === undefined ? [] : problemsIn(errorMessage) };
    },
  };
}

/** Returns the message to the model about an answer that does not fit. */
export function repairPrompt(problems: readonly string[]): string {
  const list = problems.map((problem) => `- ${problem}`).join("\n");
  return `The answer is not valid against the JSON Schema:\n\n${list}\n\n` +
    "Answer again with the corrected JSON value only.";
}

function schemaIn(path: string): Record<string, unknown> {
  let text;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no such file" : messageOf(error);
    throw new UsageError(`cannot read --schema ${path}: ${why}`);
  }
  let schema;
  try {
    schema = parse(text);
  } catch (error) {
    throw new UsageError(`--schema ${path} is not JSON: ${messageOf(error)}`);
  }
  if (typeof schema === "object" && schema !== null && !Array.isArray(schema)) {
    return schema as Record<string, unknown>;
  }
  throw new UsageError(
    `--schema ${path} is not a JSON Schema: expected an object`,
    'such as {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}',
  );
}

/** Keywords later than draft 7, which the validator would ignore. */
const LATER =
  /^(prefixItems|dependent(Required|Schemas)|unevaluated\w+|(min|max)Contains|\$dynamic\w+)$/;
/** Keywords whose members are named by the schema's author. */
const NAMED = ["properties", "patternProperties", "definitions", "$defs", "dependencies"];
/** Keywords whose values are data. */
const DATA = ["const", "enum", "default", "examples"];

/** Returns a keyword of the schema that the validator does not know, if any. */
function laterKeyword(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  for (const [keyword, value] of Object.entries(schema)) {
    if (LATER.test(keyword)) return keyword;
    if (DATA.includes(keyword)) continue;
    const below = NAMED.includes(keyword) || Array.isArray(value)
      ? Object.values(value ?? {})
      : [value];
    const found = below.map(laterKeyword).find((it) => it !== undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

function validatorOf(schema: Record<string, unknown>, path: string) {
  const later = laterKeyword(schema);
  if (later !== undefined) {
    throw new UsageError(
      `--schema ${path} uses ${later}, which draft 7 of JSON Schema does not have`,
      "write the rule with keywords of draft 7, such as items, required and allOf",
    );
  }
  // The validator knows draft 7 and refuses the name of another.
  const { $schema: _, ...rules } = schema;
  try {
    return new AjvJsonSchemaValidator().getValidator(rules);
  } catch (error) {
    throw new UsageError(`--schema ${path} is not a JSON Schema: ${messageOf(error)}`);
  }
}

/** Splits "data/a must be integer, data must be object" into problems. */
function problemsIn(message: string): string[] {
  return message.split(/, (?=data[ /])/).map((problem) =>
    problem.replace(/^data (?!\/)/, "the answer ").replace(/^data(?=\/)/, "")
  );
}
