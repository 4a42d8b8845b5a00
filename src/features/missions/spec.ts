/** What a mission should do: sessions of tasks, each gated by its acceptance criteria. */
import { parse as parseYaml } from "@std/yaml";
import * as z from "zod";
import { relativePath } from "../../jail/rooted_path.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { nearestOf } from "../../base/nearest.ts";
import { SPEC_TEXT_MAX } from "./schemas.ts";
import { inconsistencies } from "./spec_consistency.ts";

/** A piece of work for one agent session. */
export type TaskSpec = z.output<typeof task>;

/** How a criterion is checked; the model judges one that has only a description. */
export type Check = z.output<z.ZodObject<typeof check>>;

/** Something that must hold when the tasks of a session are done. */
export type CriterionSpec = z.output<typeof criterion>;

/** Tasks that belong together; the next session starts when its criteria hold. */
export type SessionSpec = z.output<typeof session>;

/** A statement of work. */
export type MissionSpec = z.output<typeof mission_spec>;

/** What is wrong at one place of a spec, such as `sessions[0].tasks[2].id`. */
export interface SpecIssue {
  path: string;
  message: string;
}

/** Values in a spec: an alias of YAML can stand for any number of them. */
const NODES_MAX = 50_000;
/** Number of issues that a message names. */
const NAMED_MAX = 5;

const id = z.string().trim().min(1).max(64).regex(/^[^\p{C}]*$/u, "has control characters");
const text = z.string().trim().min(1);
const relative = z.string().superRefine((path, context) => {
  try {
    if (relativePath(path, "/") === "") throw new Error(`${path}: is the workdir itself`);
    if (path.startsWith("/")) throw new Error(`${path}: must be relative to the workdir`);
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
  }
});
const pattern = z.string().min(1).superRefine((source, context) => {
  try {
    new RegExp(source);
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
  }
});

const task = known({
  id,
  description: text,
  dependencies: z.array(id).default([])
    .describe("Tasks that must be done before, of this session of the mission or an earlier one"),
  files: z.array(relative).default([]).describe("Files it is about"),
});
const check = {
  command: text.optional(),
  file_exists: relative.optional(),
  content_match: known({ file: relative, pattern }).optional(),
};
export const criterion = known({ id, description: text, ...check }).refine(
  (it) => checksOf(it).length <= 1,
  {
    message: "has more than one of command, file_exists and content_match",
  },
);
const session = known({
  id,
  title: text,
  tasks: z.array(task).min(1),
  acceptance_criteria: z.array(criterion).default([]),
});
/** The shape of a spec; {@linkcode readSpec} checks the rest. */
const mission_spec = known({ id, name: text, sessions: z.array(session).min(1) });

/** Drops unknown members, which specs of other programs have, but reports misspelt ones. */
function known<S extends z.ZodRawShape>(shape: S) {
  const names = Object.keys(shape);
  return z.preprocess((value, context) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    for (const name of Object.keys(value)) {
      const meant = names.includes(name) ? undefined : nearestOf(name, names);
      if (meant === undefined || meant in value) continue;
      const message = `unknown; did you mean "${meant}"?`;
      context.addIssue({ code: "custom", message, path: [name], input: value });
    }
    return value;
  }, z.object(shape));
}

function checksOf({ command, file_exists, content_match }: Check): unknown[] {
  return [command, file_exists, content_match].filter((check) => check !== undefined);
}

/**
 * Reads a spec: an object, or its JSON or YAML text.
 *
 * @throws {SvcError} validation, naming every wrong place; `details.issues` lists them.
 */
export function readSpec(source: unknown): MissionSpec {
  return checked(typeof source === "string" ? parseText(source) : source);
}

/**
 * Reads a spec's text.
 *
 * @returns what it says, and what is wrong with it
 */
export function readSpecText(source: string): { value?: unknown; issues: SpecIssue[] } {
  let value: unknown;
  try {
    value = parseText(source);
    checked(value);
    return { value, issues: [] };
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    const issues = error.details?.issues as SpecIssue[];
    return fewerNodes(value, NODES_MAX) ? { value, issues } : { issues };
  }
}

function checked(value: unknown): MissionSpec {
  if (!fewerNodes(value, NODES_MAX)) {
    throw refused([{ path: "", message: `has more than ${NODES_MAX} values` }]);
  }
  const parsed = mission_spec.safeParse(value);
  if (!parsed.success) {
    throw refused(parsed.error.issues.map(({ path, message }) => ({ path: at(path), message })));
  }
  const issues = inconsistencies(parsed.data);
  if (issues.length > 0) throw refused(issues);
  return parsed.data;
}

/** Reads a check that a model wrote, alone or in a fence, if it is one. */
export function readCheck(answer: string): Check | undefined {
  const [, fenced] = /```(?:json)?\s*\n([^]*?)\n\s*```/.exec(answer) ?? [];
  try {
    const parsed = z.strictObject(check).safeParse(JSON.parse(fenced ?? answer));
    return parsed.success && checksOf(parsed.data).length === 1 ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

function parseText(source: string): unknown {
  if (source.length > SPEC_TEXT_MAX) {
    throw refused([{ path: "", message: `has more than ${SPEC_TEXT_MAX} characters` }]);
  }
  try {
    return source.trimStart().startsWith("{") ? JSON.parse(source) : fromYaml(source);
  } catch (error) {
    throw refused([{ path: "", message: `is neither JSON nor YAML: ${messageOf(error)}` }]);
  }
}

/** A date stays the text that it is. Only the other schema knows merges. */
function fromYaml(source: string): unknown {
  return parseYaml(source, { schema: /^\s*(?:- )?<<\s*:/m.test(source) ? "default" : "core" });
}

function fewerNodes(value: unknown, max: number): boolean {
  const waiting = [value];
  for (let seen = 0; waiting.length > 0; seen++) {
    if (seen >= max || waiting.length > max) return false;
    const next = waiting.pop();
    if (typeof next === "object" && next !== null) waiting.push(...Object.values(next));
  }
  return true;
}

function refused(issues: SpecIssue[]): SvcError {
  const lines = issues.slice(0, NAMED_MAX).map(({ path, message }) =>
    path === "" ? message : `${path}: ${message}`
  );
  const more = issues.length > NAMED_MAX ? `; and ${issues.length - NAMED_MAX} more` : "";
  const verb = issues[0].path === "" ? "" : "is wrong: ";
  return new SvcError("validation", `the spec ${verb}${lines.join("; ")}${more}`, {
    hint: "a spec has id, name and sessions[{id, title, tasks[{id, description, dependencies, " +
      "files}], acceptance_criteria[{id, description, command | file_exists | content_match}]}]",
    details: { issues },
  });
}

/** `["sessions", 0, "tasks"]` as `sessions[0].tasks`. */
function at(path: readonly PropertyKey[]): string {
  return path.map((part, n) =>
    typeof part === "number" ? `[${part}]` : `${n > 0 ? "." : ""}${String(part)}`
  ).join("");
}
