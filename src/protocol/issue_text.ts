/**
 * Words what a schema refuses like our other errors: what the value must be, and what it is. The
 * import sets this for all schemas of the process; a schema's own message comes first.
 */
import * as z from "zod";

type Raw = z.core.$ZodRawIssue;

const TYPES: Record<string, string> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  map: "an object",
  null: "null",
};

const FORMATS: Record<string, string> = {
  email: "an email address",
  url: "an address such as https://example.org",
  datetime: "a date and time such as 2026-01-31T12:00:00Z",
  date: "a date such as 2026-01-31",
  uuid: "a UUID",
};

/** The most keys, and characters of one, in a message: a caller chooses them. */
const KEYS_MAX = 5;
const KEY_MAX = 60;

z.config({ customError: textOf });

function textOf(issue: Raw): string {
  switch (issue.code) {
    case "invalid_type": {
      if (issue.input === undefined) return "is required";
      if (issue.expected === "number" || issue.expected === "int") return numberProblem(issue);
      return `must be ${TYPES[issue.expected] ?? issue.expected}, not ${kindOf(issue.input)}`;
    }
    case "too_small":
      return isNumber(issue.origin) ? numberProblem(issue) : sizeProblem(issue, issue.minimum);
    case "too_big":
      return isNumber(issue.origin) ? numberProblem(issue) : sizeProblem(issue, issue.maximum);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_value":
      return `must be ${oneOf(issue.values.map((it) => typeof it === "string" ? it : String(it)))}`;
    case "invalid_format":
      return issue.format === "regex"
        ? `must match ${issue.pattern}`
        : `must be ${FORMATS[issue.format] ?? `in the format ${issue.format}`}`;
    case "unrecognized_keys": {
      const { length } = issue.keys;
      const named = issue.keys.slice(0, KEYS_MAX).map((key) => key.slice(0, KEY_MAX)).join(", ");
      const more = length > KEYS_MAX ? ` and ${length - KEYS_MAX} more` : "";
      return `unknown ${length === 1 ? "key" : "keys"} ${named}${more}`;
    }
    case "invalid_key":
      return `has a key that ${issue.issues[0]?.message ?? "is not valid"}`;
    case "invalid_union":
      return unionProblem(issue);
    default:
      return "is not valid";
  }
}

function isNumber(origin: string): boolean {
  return origin === "number" || origin === "int" || origin === "bigint";
}

/** As "a whole number from 1 to 16": all that the number's schema asks for. */
function numberText(issue: Raw): string {
  const { schema, code } = issue as Raw & { schema?: z.ZodNumber };
  const whole = schema?.isInt || code === "invalid_type" && issue.expected === "int";
  const kind = whole ? "a whole number" : "a number";
  const least = limitOf(schema?.minValue, "greater_than", schema);
  const most = limitOf(schema?.maxValue, "less_than", schema);
  if (least?.within && most?.within) return `${kind} from ${least.value} to ${most.value}`;
  const limits = [
    least && `${least.within ? "of at least" : "above"} ${least.value}`,
    most && `${most.within ? "of at most" : "below"} ${most.value}`,
  ].filter(Boolean);
  return limits.length === 0 ? kind : `${kind} ${limits.join(" and ")}`;
}

/** A limit that a schema states, and whether the limit itself is allowed. */
function limitOf(
  value: number | null | undefined,
  check: "greater_than" | "less_than",
  schema?: z.ZodNumber,
): { value: number; within: boolean } | undefined {
  if (!Number.isFinite(value) || Math.abs(value!) >= Number.MAX_SAFE_INTEGER) return undefined;
  const excludes = schema?.def.checks?.some(({ _zod: { def } }) => {
    const it = def as { check: string; value?: unknown; inclusive?: boolean };
    return it.check === check && it.value === value && it.inclusive === false;
  });
  return { value: value!, within: !excludes };
}

function numberProblem(issue: Raw): string {
  const { input } = issue;
  return `must be ${numberText(issue)}, not ${typeof input === "number" ? input : kindOf(input)}`;
}

function sizeProblem(issue: Raw & { origin: string; exact?: boolean }, limit: number | bigint) {
  if (issue.code === "too_small" && Number(limit) === 1) return "must not be empty";
  const one = Number(limit) === 1;
  const unit = issue.origin === "string"
    ? one ? "character" : "characters"
    : issue.origin === "file"
    ? one ? "byte" : "bytes"
    : one
    ? "entry"
    : "entries";
  const how = issue.exact ? "exactly" : issue.code === "too_small" ? "at least" : "at most";
  return `must have ${how} ${limit} ${unit}`;
}

/** What is wrong with the alternative that was meant, or all that the value may be. */
function unionProblem(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  if (issue.input === undefined) return "is required";
  const { options, errors } = issue as { options?: unknown[]; errors?: z.core.$ZodIssue[][] };
  if (options !== undefined && options.length > 0) return `must be ${oneOf(options.map(String))}`;
  const firsts = (errors ?? []).flatMap((it) => it.slice(0, 1));
  const meant = firsts.filter(({ code, path }) =>
    path.length > 0 || code !== "invalid_type" && code !== "invalid_value"
  );
  if (meant.length === 1) {
    const [{ path, message }] = meant;
    return path.length > 0 ? `${path.join(".")}: ${message}` : message;
  }
  const allowed = firsts.map(({ message }) => /^must be (.+?)(?:, not .*)?$/.exec(message)?.[1]);
  if (allowed.length === 0 || allowed.includes(undefined)) return "is not valid";
  const not = /, not .*$/.exec(firsts.map((it) => it.message).join("\n"))?.[0] ?? "";
  return `must be ${[...new Set(allowed)].join(" or ")}${not}`;
}

function oneOf(values: string[]): string {
  return values.length === 1 ? values[0] : `one of ${values.join(", ")}`;
}

/** A switch itself; of all else only its kind: it may be long or, also as a number, secret. */
function kindOf(value: unknown): string {
  if (typeof value === "boolean" || value === null) return String(value);
  return TYPES[Array.isArray(value) ? "array" : typeof value] ?? typeof value;
}
