/** The tools a model may call, each with its arguments' schema, in the order models are shown them. */
import { isAbsolute, join } from "@std/path";
import * as z from "zod";
import type { ToolSpec } from "../models/model.ts";
import type { Egress } from "../net/egress.ts";
import { parsePatch, pathsOf } from "../base/edits/patch.ts";
import { stripWorkdir } from "../jail/beneath_path.ts";
import { READ_EARLIER } from "../protocol/events.ts";
import type { Journal } from "../session/journal.ts";
import { runCommand } from "../jail/command.ts";
import { runsAtHome, runsLater, watchLater } from "../jail/later_files.ts";
import type { Sandbox, SandboxScope } from "../jail/sandbox.ts";
import type { UnitOp, UnitPool } from "../jail/unit/pool.ts";
import { describeChange, SeenFiles } from "../jail/unit/seen_files.ts";

/** What a call does to the world; decides which calls may run at once and which need an approval. */
export type Access = "read" | "write" | "execute" | "network";

/** Where and for whom a call runs. */
export interface ToolScope {
  session_id: string;
  /** Absolute real path; everything happens in it. */
  workdir: string;
  /** Absolute real paths that no tool may see. */
  hidden: readonly string[];
  signal: AbortSignal;
  /** Takes output while the call still runs. */
  onOutput(text: string): void;
}

export interface ToolOutcome {
  ok: boolean;
  output: string;
  truncated?: boolean;
  /** Of a command that ran to its end. */
  exit_code?: number;
}

export interface Tool {
  spec: ToolSpec;
  access: Access;
  /** Checks what a model sent. */
  parse(args: unknown): { args?: unknown; problem?: string };
  /** Why the person is asked for each such call: what it writes is run later, outside of any sandbox. */
  risk?(args: unknown, workdir: string): string | undefined;
  /** Finds out what a call comes to; that is what is asked, and what is run. */
  prepare(args: unknown, workdir: string): Promise<unknown>;
  /** What a call is about, in a line for a person who is to approve it. */
  describe(args: unknown): string;
  /** What `allow_always` lets through: this tool, or for a command exactly this command line. */
  rule(args: unknown): string;
  /** Whether this call, which does more than read, needs an approval in a session that asks. */
  asks(args: unknown): boolean;
  /** Whether it needs one in a trusted session that needs none otherwise. */
  asks_in_auto(args: unknown, workdir: string): boolean;
  run(args: unknown, scope: ToolScope): Promise<ToolOutcome>;
}

export interface ToolParts {
  units: UnitPool;
  /** Found out at the first command. */
  sandbox(): Promise<Sandbox>;
  /** Whether commands reach the network now. */
  network(): boolean;
  /** The person's home directory. */
  home?: string;
  /** Port of the daemon itself, which no tool may fetch from. */
  own_port(): number;
  /** Opens the way out of an untrusted session; undefined for one that may go everywhere. */
  egress(session_id: string): Promise<Egress | undefined>;
  /** The journal of a session. */
  journal(session_id: string): Promise<Journal>;
}

/** Output handed to the model and kept in the journal, in characters. */
const OUTPUT_MAX = 48 * 1024;
const COMMAND_TIMEOUT_S = 120;
/** The longest time limit of a command that a model may ask for, in seconds. */
export const COMMAND_TIMEOUT_MAX_S = 3_600;
/** Of one file in one call. */
const EDITS_MAX = 100;

const path = () => z.string().min(1).describe("Path inside the working directory");

/** Returns the built-in tools and those of features, sorted by name. */
export function builtinTools(parts: ToolParts, more: readonly Tool[]): Tool[] {
  const inUnit = (op: UnitOp) => (args: unknown, { signal, ...scope }: ToolScope) =>
    parts.units.call(op, args, scope, signal);
  const seen_files = new SeenFiles();
  /** As inUnit, for what reads or writes whole files: they must be as the session last saw them. */
  const onFiles = <A extends object>(op: UnitOp, pathsIn: (args: A) => string[]) =>
  async (
    args: A,
    { signal, ...scope }: ToolScope,
  ): Promise<ToolOutcome> => {
    const { session_id, workdir } = scope;
    const seen = seen_files.of(session_id, workdir, pathsIn(args));
    const result = await parts.units.call(op, { ...args, seen }, scope, signal);
    seen_files.note(session_id, workdir, result);
    const { ok, output, changed } = result;
    if (changed === undefined) return { ok, output };
    const { text, whole } = await describeChange(changed);
    if (whole) seen_files.note(session_id, workdir, { ...result, files: [changed.now!] });
    return { ok, output: text };
  };
  const thePath = ({ path }: { path: string }) => [path];
  const own = [
    defineTool({
      name: "apply_patch",
      description:
        "Adds, changes, moves and deletes files by one patch; nothing is changed unless all of it " +
        "fits. Between *** Begin Patch and *** End Patch: *** Add File: path (each line with +), " +
        "*** Delete File: path, *** Update File: path, perhaps *** Move to: path, then hunks that " +
        "begin with @@ and hold lines with a blank (stays), - (goes) or + (comes). edit_file is " +
        "the simpler way for one file.",
      access: "write",
      input: z.strictObject({ patch: z.string().min(1) }),
      prepare({ patch }) {
        return Promise.resolve({ patch, paths: parsePatch(patch).flatMap(pathsOf) });
      },
      describe: ({ paths }) => `patch ${paths.join(", ")}`,
      risk({ paths }, workdir) {
        const risks = paths.map((path) => riskOf(path, workdir, parts.home));
        return risks.find((risk) => risk !== undefined);
      },
      asks_in_auto: ({ paths }, workdir) =>
        paths.some((path) => riskOf(path, workdir, parts.home, runsAtHome) !== undefined),
      run: onFiles("apply_patch", ({ paths }) => paths),
    }),
    defineTool({
      name: "edit_file",
      description:
        "Replaces text in a file. old_text must say which place is meant: it occurs once, unless " +
        "replace_all is set. Several edits of one file go into edits; all are made or none. An " +
        "empty old_text makes a new file.",
      access: "write",
      input: z.strictObject({
        path: path(),
        old_text: z.string().optional(),
        new_text: z.string().optional(),
        replace_all: z.boolean().optional(),
        edits: z.array(z.strictObject({
          old_text: z.string().min(1),
          new_text: z.string(),
          replace_all: z.boolean().optional(),
        })).min(1).max(EDITS_MAX).optional().describe("In place of old_text and new_text"),
      }).refine(
        ({ old_text, new_text, edits }) =>
          edits === undefined
            ? old_text !== undefined && new_text !== undefined
            : old_text === undefined && new_text === undefined,
        { error: "give old_text and new_text, or edits" },
      ),
      describe: ({ path, edits }) =>
        edits === undefined || edits.length === 1
          ? `edit ${path}`
          : `edit ${path} in ${edits.length} places`,
      risk: ({ path }, workdir) => riskOf(path, workdir, parts.home),
      asks_in_auto: ({ path }, workdir) =>
        riskOf(path, workdir, parts.home, runsAtHome) !== undefined,
      run: onFiles("edit_file", thePath),
    }),
    defineTool({
      name: "fetch_url",
      description:
        "Fetches an http(s) address and gives its text; HTML is reduced to readable text.",
      access: "network",
      input: z.strictObject({ url: z.string().min(1) }),
      describe: ({ url }) => `fetch ${url}`,
      run: async ({ url }, { session_id, signal }) => {
        const { fetchUrl } = await import("./fetch.ts");
        const egress = await parts.egress(session_id);
        try {
          return await fetchUrl({ url, signal, own_port: parts.own_port(), egress });
        } finally {
          await egress?.[Symbol.asyncDispose]();
        }
      },
    }),
    defineTool({
      name: "glob",
      description: "Lists files whose path matches a glob such as src/**/*.ts.",
      access: "read",
      input: z.strictObject({ pattern: z.string().min(1), path: path().optional() }),
      describe: ({ pattern }) => `find ${pattern}`,
      run: inUnit("glob"),
    }),
    defineTool({
      name: "grep",
      description: "Searches files for a regular expression; gives path:line: text.",
      access: "read",
      input: z.strictObject({
        pattern: z.string().min(1).describe("JavaScript regular expression"),
        path: path().optional(),
        include: z.string().optional().describe("Only files matching this glob"),
        ignore_case: z.boolean().optional(),
        limit: z.int().min(1).max(2000).optional(),
      }),
      describe: ({ pattern }) => `search for ${pattern}`,
      run: inUnit("grep"),
    }),
    defineTool({
      name: "list_dir",
      description: "Lists a directory.",
      access: "read",
      input: z.strictObject({ path: path().optional() }),
      describe: ({ path }) => `list ${path ?? "."}`,
      run: inUnit("list_dir"),
    }),
    defineTool({
      name: READ_EARLIER,
      description: "Reads again what was left out of this conversation to save room: " +
        "an output or a message, by the seq that its note gives. Long ones come in pieces.",
      access: "read",
      input: z.strictObject({
        seq: z.int().min(1).describe("The number in the note"),
        offset: z.int().min(0).optional().describe("First character to read, from 0"),
        limit: z.int().min(1).optional().describe("Number of characters"),
      }),
      describe: ({ seq }) => `read record ${seq} of this session again`,
      run: async ({ seq, ...piece }, { session_id }) => {
        const { readEarlier } = await import("./earlier.ts");
        return await readEarlier(await parts.journal(session_id), seq, piece);
      },
    }),
    defineTool({
      name: "read_file",
      description: "Reads a text file, or some of its lines.",
      access: "read",
      input: z.strictObject({
        path: path(),
        offset: z.int().min(1).optional().describe("First line to read, from 1"),
        limit: z.int().min(1).optional().describe("Number of lines"),
      }),
      describe: ({ path }) => `read ${path}`,
      run: onFiles("read_file", thePath),
    }),
    defineTool({
      name: "run_command",
      description: "Runs a shell command in the working directory and gives its output. " +
        "It has no terminal and no input. .git/config and .git/hooks are read-only.",
      access: "execute",
      input: z.strictObject({
        command: z.string().min(1),
        timeout_s: z.int().min(1).max(COMMAND_TIMEOUT_MAX_S).optional()
          .describe(`Time limit in seconds, ${COMMAND_TIMEOUT_S} by default`),
      }),
      describe: ({ command }) => `run ${command}`,
      rule: ({ command }) => `run_command ${command}`,
      run: ({ command, timeout_s = COMMAND_TIMEOUT_S }, scope) =>
        execute(parts, command, timeout_s, scope),
    }),
    defineTool({
      name: "write_file",
      description: "Writes a file, making its directories; replaces what was there.",
      access: "write",
      input: z.strictObject({ path: path(), content: z.string() }),
      describe: ({ path, content }) => `write ${path} (${content.length} characters)`,
      risk: ({ path }, workdir) => riskOf(path, workdir, parts.home),
      asks_in_auto: ({ path }, workdir) =>
        riskOf(path, workdir, parts.home, runsAtHome) !== undefined,
      run: onFiles("write_file", thePath),
    }),
  ];
  return [...own, ...more].sort((a, b) => a.spec.name < b.spec.name ? -1 : 1);
}

/** What is said of a path that will not do is for the unit to say. */
function riskOf(
  path: string,
  workdir: string,
  home: string | undefined,
  runner = runsLater,
): string | undefined {
  const place = stripWorkdir(isAbsolute(path) ? path : join(workdir, path), workdir);
  const at_home = home === undefined ? undefined : stripWorkdir(home, workdir);
  return place === undefined ? undefined : runner(place, at_home);
}

async function execute(
  parts: ToolParts,
  command: string,
  timeout_s: number,
  { workdir, hidden, signal, onOutput }: ToolScope,
): Promise<ToolOutcome> {
  const scope = { workdir, hidden, network: parts.network() };
  const sandbox = await parts.sandbox();
  const filesMade = watchLater(workdir);
  const timeout_ms = timeout_s * 1000;
  const result = await runCommand({ command, scope, sandbox, timeout_ms, signal, onOutput });
  const notes: string[] = [];
  if (result.timed_out) notes.push(`[stopped after the time limit of ${timeout_s} s]`);
  else if (result.signal !== null) notes.push(`[ended by ${result.signal}]`);
  else if (result.exit_code !== 0) notes.push(`[exit code ${result.exit_code}]`);
  const ok = notes.length === 0;
  notes.push(...unseenPrograms(result, sandbox, scope), ...filesMade());
  const output = [result.output.trimEnd(), ...notes].filter((it) => it !== "").join("\n");
  return {
    ok,
    output,
    truncated: result.truncated,
    ...(result.exit_code === null ? {} : { exit_code: result.exit_code }),
  };
}

/** A shell's exit code for a program that it does not find. */
const NOT_FOUND = 127;

/** Notes on programs that were not found although the machine has them. */
export function unseenPrograms(
  { exit_code, output }: { exit_code: number | null; output: string },
  sandbox: Sandbox,
  scope: SandboxScope,
): string[] {
  if (exit_code !== NOT_FOUND) return [];
  const named = output.matchAll(/(?:^|[\s'"])([\w.+-]+)['"]?: (?:command )?not found/gm);
  return [...new Set([...named].map(([, name]) => name))].flatMap((name) => {
    const path = sandbox.unseen(name, scope);
    return path === undefined ? [] : [`[${path} is there, but commands do not see its directory]`];
  });
}

interface Definition<I extends z.ZodType, P> {
  name: string;
  description: string;
  access: Access;
  input: I;
  prepare?(args: z.output<I>, workdir: string): Promise<P>;
  describe(args: P): string;
  rule?(args: P): string;
  asks?(args: P): boolean;
  asks_in_auto?(args: P, workdir: string): boolean;
  risk?(args: P, workdir: string): string | undefined;
  run(args: P, scope: ToolScope): Promise<ToolOutcome>;
}

/** Defines a tool; its arguments are typed by their schema. */
export function defineTool<I extends z.ZodType, P = z.output<I>>(
  definition: Definition<I, P>,
): Tool {
  const { name, description, access, input, describe } = definition;
  const { rule = () => name, asks = () => true, asks_in_auto = () => false } = definition;
  const { risk = () => undefined } = definition;
  const { $schema: _, ...input_schema } = z.toJSONSchema(input) as Record<string, unknown>;
  return {
    spec: { name, description, input_schema },
    access,
    parse(args) {
      const parsed = input.safeParse(args);
      return parsed.success ? { args: parsed.data } : { problem: z.prettifyError(parsed.error) };
    },
    prepare: async (args, workdir) =>
      await definition.prepare?.(args as z.output<I>, workdir) ?? args,
    describe: (args) => describe(args as P),
    rule: (args) => rule(args as P),
    asks: (args) => asks(args as P),
    asks_in_auto: (args, workdir) => asks_in_auto(args as P, workdir),
    risk: (args, workdir) => risk(args as P, workdir),
    run: async (args, scope) => capped(await definition.run(args as P, scope)),
  };
}

/** An outcome whose output is no longer than a model is given. */
export function capped(outcome: ToolOutcome): ToolOutcome {
  if (outcome.output.length <= OUTPUT_MAX) return outcome;
  const left_out = outcome.output.length - OUTPUT_MAX;
  const output = `${outcome.output.slice(0, OUTPUT_MAX)}\n[… ${left_out} more characters left out]`;
  return { ...outcome, output, truncated: true };
}
