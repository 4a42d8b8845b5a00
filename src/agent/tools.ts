/**
 * The built-in tools, each with the schema of its arguments, in the order in which models see them.
 */
import { isAbsolute, join, normalize } from "@std/path";
import * as z from "zod";
import type { OnOutput } from "../base/redraw.ts";
import type { Media } from "../base/media.ts";
import type { PersonQuestion } from "../protocol/person_question.ts";
import type { QuestionOutcome } from "../session/person_answers.ts";
import type { ToolSpec } from "../models/model.ts";
import type { Egress } from "../net/egress.ts";
import type { FileChange } from "../base/edits/changes.ts";
import { parsePatch, type PatchStep, pathsOf } from "../base/edits/patch.ts";
import { stripWorkdir } from "../jail/beneath_path.ts";
import { editSchema } from "../protocol/schemas/edit.ts";
import { accessWords, type CommandAccess } from "../protocol/command_access.ts";
import type { Attachment } from "../protocol/attachments.ts";
import { READ_EARLIER } from "../protocol/events.ts";
import type { Journal } from "../session/journal.ts";
import type { SessionState } from "../session/state.ts";
import { runCommand } from "../jail/command.ts";
import { refusedByLimits } from "../jail/command_limits.ts";
import { ledIn, ledLater, refusedLater } from "../jail/later_locks.ts";
import { type Later, laterFile } from "../jail/runs_later.ts";
import type { CommandSpace } from "../jail/command_space.ts";
import type { Sandbox, SandboxScope } from "../jail/sandbox.ts";
import {
  type DecideHost,
  decideHost,
  type MayConnect,
  refusalNotes,
  type WayOut,
} from "./way_out.ts";
import type { UnitOp, UnitPool } from "../jail/unit/pool.ts";
import { OUTPUT_MAX } from "../jail/unit/protocol.ts";
import type { Located } from "../jail/unit/locate.ts";
import { describeChange, SeenFiles } from "../jail/unit/seen_files.ts";

/** The effect of a call; decides which calls may run concurrently and which need approval. */
export type Access = "read" | "write" | "execute" | "network";

/** Where, and for which session, a call runs. */
export interface ToolScope {
  session_id: string;
  call_id: string;
  /** The conversation that the call reads for; default: the session's own. */
  reader?: string;
  /** Absolute real path; the call is confined to it. */
  workdir: string;
  /** Absolute real paths that no tool may see. */
  hidden: readonly string[];
  signal: AbortSignal;
  /** Receives output while the call is still running. */
  onOutput: OnOutput;
  /** Why an address must not be fetched; for tools that reach the network. */
  mayReach?(url: string): Promise<string | undefined>;
  /** Decides whether a command may connect to a host; for tools that run commands. */
  mayConnect?: MayConnect;
  /** Asks the person and waits for the answer. */
  askPerson(question: PersonQuestion): Promise<QuestionOutcome>;
  /** Runs a subagent; undefined where a call cannot have one. */
  delegate?(subagent: Subagent): Promise<SubagentEnd>;
}

/** An agent that does a task for a call, with its own conversation. */
export interface Subagent {
  /** The call that starts it. */
  call_id: string;
  /** A few words, for the person. */
  description: string;
  /** Its complete instructions. */
  task: string;
  /** Default: the session's. */
  model?: string;
  /** `read`: only those that change nothing. */
  tools: "read" | "all";
  /** Ends it at once. */
  signal: AbortSignal;
  /** Its time limit. */
  max_ms: number;
}

/** How a subagent ended. */
export interface SubagentEnd {
  ok: boolean;
  /** Its answer, or what it did and why it ended. */
  text: string;
}

export interface ToolOutcome {
  ok: boolean;
  output: string;
  truncated?: boolean;
  /** Set for a command that ran to its end. */
  exit_code?: number;
  /** Images and documents for the model: new ones, and those that the session already has. */
  media?: readonly Media[];
  attachments?: readonly Attachment[];
}

/** Where the files of a call are looked for. */
export type LocateScope = Pick<ToolScope, "session_id" | "workdir" | "hidden" | "signal">;

/** Where a call is tried, and for which conversation. */
export type PreviewScope = LocateScope & Pick<ToolScope, "reader">;

/** What a call would do. */
export interface Preview {
  problem?: string;
  changes?: FileChange[];
}

/** The arguments with the paths as they are on disk. */
export interface LocatedArgs {
  args: unknown;
  notes: string[];
  /** Why it is not certain which file is meant. */
  problem?: string;
}

export interface Tool {
  spec: ToolSpec;
  access: Access;
  /** Whether a call waits for the person, so that it has no lane however long it takes. */
  waits?: boolean;
  /** Whether a call that has started a subagent must not run again, although it only reads. */
  once?: boolean;
  /** Whether a session has it; without this, every session. */
  offered?(session: Pick<SessionState, "trust">): boolean;
  /** Validates a model's arguments. */
  parse(args: unknown): { args?: unknown; problem?: string };
  /** Finds the files that a call means; what the model is told of that comes with its result. */
  locate?(args: unknown, scope: LocateScope): Promise<LocatedArgs>;
  /** Why each such call needs approval: a file it writes runs later, outside of any sandbox. */
  risk?(args: unknown, workdir: string): Later | undefined;
  /** Resolves what a call would do; the result is shown for approval and then run. */
  prepare(args: unknown, workdir: string, session_id: string): Promise<unknown>;
  /** Tries a call without doing it: why it would fail, or what it would change. */
  preview?(args: unknown, scope: PreviewScope): Promise<Preview>;
  /** Describes a call in one line, for the person who approves it. */
  describe(args: unknown): string;
  /** What `allow_always` covers: this tool, or for a command exactly this command line. */
  rule(args: unknown): string;
  /** Whether a call that changes something needs approval in a session with `approval: ask`. */
  asks(args: unknown): boolean;
  /** Whether it needs approval even in a trusted session with `approval: auto`. */
  asks_in_auto(args: unknown, workdir: string): boolean;
  /** What the call asks for beyond the sandbox; work for others never gets it. */
  beyond?(args: unknown): string | undefined;
  /** Whether `rule` is the same for all its calls, so that it stands for the whole tool. */
  readonly whole?: boolean;
  /** Whether the names of its parameters are svc's own. */
  readonly own?: boolean;
  /** Whether a project chose its name, which then says nothing about what it does. */
  readonly foreign?: boolean;
  run(args: unknown, scope: ToolScope): Promise<ToolOutcome>;
}

/** A tool as rules see it. */
export type Judged = Pick<Tool, "access" | "foreign" | "rule" | "whole"> & {
  spec: Pick<ToolSpec, "name">;
};

export interface ToolParts {
  units: UnitPool;
  /** Chosen at the first command. */
  sandbox(): Promise<Sandbox>;
  /** Runs commands that the person lets out of the sandbox. */
  unconfined(): Promise<Sandbox>;
  /** Whether commands currently have network access. */
  network(): boolean;
  /** Opens the proxy for one command; undefined if commands get no network, or all of it. */
  wayOut(session_id: string, decide?: DecideHost): Promise<WayOut | undefined>;
  /** Directories of a session's commands that outlive one command; undefined without a sandbox. */
  space(session_id: string): Promise<CommandSpace | undefined>;
  /** The person's home directory. */
  home?: string;
  /** The daemon's own port, which no tool may fetch from. */
  own_port(): number;
  /**
   * Opens the egress of an untrusted session; undefined for a session that may reach any address.
   */
  egress(session_id: string): Promise<Egress | undefined>;
  /** Returns the journal of a session. */
  journal(session_id: string): Promise<Journal>;
  /** Starts a command in the background. */
  startInBackground(command: Command, scope: ToolScope): Promise<ToolOutcome>;
}

const COMMAND_TIMEOUT_S = 120;
/** The longest time limit that a model may set for a command, in seconds. */
export const COMMAND_TIMEOUT_MAX_S = 3_600;
/** The longest reason that a person is shown for a call, in characters. */
const REASON_MAX = 500;
/** The most edits of one file in one call. */
const EDITS_MAX = 100;

const path = () => z.string().min(1).describe("Path inside the working directory");

/** Returns the built-in tools and those of features, sorted by name. */
export function builtinTools(parts: ToolParts, more: readonly Tool[]): Tool[] {
  const inUnit = (op: UnitOp) => (args: unknown, { signal, ...scope }: ToolScope) =>
    parts.units.call(op, args, scope, signal);
  const seen_files = new SeenFiles();
  /** What the unit itself cannot know of files that run later. */
  const leadsFor = (op: UnitOp, { workdir, hidden }: Pick<ToolScope, "workdir" | "hidden">) =>
    op === "read_file"
      ? undefined
      : [...ledIn(workdir, { home: parts.home, hidden: new Set(hidden) })];
  /**
   * Like inUnit, for calls that read or write whole files: the files must be as the session last
   * saw them.
   */
  const onFiles = <A extends object>(op: UnitOp, pathsIn: (args: A) => string[]) =>
  async (
    args: A,
    { signal, ...scope }: ToolScope,
  ): Promise<ToolOutcome> => {
    const { session_id, workdir, reader = session_id } = scope;
    const seen = seen_files.of(reader, workdir, pathsIn(args));
    const leads = leadsFor(op, scope);
    const result = await parts.units.call(op, { ...args, seen, leads }, scope, signal);
    seen_files.note(reader, workdir, result);
    const { ok, output, changed, media } = result;
    if (changed === undefined) return { ok, output, ...(media && { media }) };
    const { text, whole } = await describeChange(changed);
    if (whole) seen_files.note(reader, workdir, { ...result, files: [changed.now!] });
    return { ok, output: text };
  };
  /** Tries what onFiles runs. What it would read counts as not read. */
  const trying = <A extends object>(op: UnitOp, pathsIn: (args: A) => string[]) =>
  async (
    args: A,
    { signal, ...scope }: PreviewScope,
  ): Promise<Preview> => {
    const { session_id, workdir, reader = session_id } = scope;
    const seen = seen_files.of(reader, workdir, pathsIn(args));
    const { ok, changed, output, changes = [] } = await parts.units.call(
      op,
      { ...args, seen, leads: leadsFor(op, scope), dry: true },
      scope,
      signal,
    );
    if (changed !== undefined) {
      const { text, whole } = await describeChange(changed);
      if (whole) seen_files.note(reader, workdir, { ok, output, files: [changed.now!] });
      return { problem: text };
    }
    if (!ok) return { problem: output };
    const { shownChanges } = await import("./shown_changes.ts");
    return { changes: shownChanges(changes) };
  };
  const thePath = ({ path }: { path: string }) => [path];
  const locate = locating(parts);
  const own = [
    defineTool({
      name: "apply_patch",
      description:
        "Adds, changes, moves and deletes files with one patch; nothing changes unless the whole patch " +
        "fits. Between *** Begin Patch and *** End Patch: *** Add File: path (each line with +), " +
        "*** Delete File: path, *** Update File: path, optionally *** Move to: path, then hunks that " +
        "begin with @@ and contain lines prefixed with a space (unchanged), - (removed) or + (added). " +
        "For one file, edit_file is simpler.",
      access: "write",
      locate: locatingInPatch(parts),
      input: z.strictObject({ patch: z.string().min(1) }),
      prepare({ patch }) {
        return Promise.resolve({ patch, paths: parsePatch(patch).flatMap(pathsOf) });
      },
      describe: ({ patch }) => `patch ${parsePatch(patch).map(stepText).join(", ")}`,
      risk: ({ paths }, workdir) => riskOf(paths, workdir, parts.home),
      preview: trying("apply_patch", ({ paths }) => paths),
      run: onFiles("apply_patch", ({ paths }) => paths),
    }),
    defineTool({
      name: "edit_file",
      description:
        "Replaces text in a file. old_text must identify one place: it occurs once, unless " +
        "replace_all is set. Put several edits of one file into edits; either all are made or none. An " +
        "empty old_text creates a new file.",
      access: "write",
      locate,
      input: z.strictObject({
        path: path(),
        old_text: z.string().optional(),
        new_text: z.string().optional(),
        replace_all: z.boolean().optional(),
        edits: z.array(editSchema()).min(1).max(EDITS_MAX).optional()
          .describe("Instead of old_text and new_text"),
      }).refine(
        ({ old_text, new_text, edits }) =>
          edits === undefined
            ? old_text !== undefined && new_text !== undefined
            // Some models fill in every parameter.
            : !old_text && !new_text,
        { error: "either old_text and new_text, or edits is required" },
      ),
      describe: ({ path, edits }) =>
        edits === undefined || edits.length === 1
          ? `edit ${path}`
          : `edit ${path} in ${edits.length} places`,
      risk: ({ path }, workdir) => riskOf([path], workdir, parts.home),
      preview: trying("edit_file", thePath),
      run: onFiles("edit_file", thePath),
    }),
    defineTool({
      name: "fetch_url",
      description:
        "Fetches an http(s) address and returns its text; HTML is reduced to readable text.",
      access: "network",
      input: z.strictObject({ url: z.string().min(1) }),
      describe: ({ url }) => `fetch ${url}`,
      run: async ({ url }, { session_id, signal, mayReach }) => {
        const { fetchUrl } = await import("./fetch.ts");
        const egress = await parts.egress(session_id);
        try {
          return await fetchUrl({ url, signal, own_port: parts.own_port(), egress, mayReach });
        } finally {
          await egress?.[Symbol.asyncDispose]();
        }
      },
    }),
    defineTool({
      name: "glob",
      description: "Lists files whose path matches a glob such as src/**/*.ts.",
      access: "read",
      locate,
      input: z.strictObject({ pattern: z.string().min(1), path: path().optional() }),
      describe: ({ pattern }) => `find ${pattern}`,
      run: inUnit("glob"),
    }),
    defineTool({
      name: "grep",
      description: "Searches files for a regular expression; returns path:line: text.",
      access: "read",
      locate,
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
      locate,
      input: z.strictObject({ path: path().optional() }),
      describe: ({ path }) => `list ${path ?? "."}`,
      run: inUnit("list_dir"),
    }),
    defineTool({
      name: READ_EARLIER,
      description:
        "Reads an output or a message that was removed from this conversation to save space, " +
        "by the seq in its note. Long texts are returned in pieces, images and PDF files whole.",
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
      description: "Reads a text file, or a range of its lines. Shows a PNG, JPEG, GIF or WebP " +
        "image or a PDF if you can see such files.",
      access: "read",
      locate,
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
      description: "Runs a shell command in the working directory and returns its output. " +
        "It has no terminal and no input. .git/config and .git/hooks are read-only. " +
        "With background it runs on beside your work, such as a server, and you get its id at once. " +
        "network and outside_sandbox ask the person to let this one command do more; use them when " +
        "the sandbox is what stops the work, and say why in reason.",
      access: "execute",
      input: z.strictObject({
        command: z.string().min(1),
        timeout_s: z.int().min(1).max(COMMAND_TIMEOUT_MAX_S).optional()
          .describe(`Time limit in seconds (default: ${COMMAND_TIMEOUT_S})`),
        background: z.boolean().optional()
          .describe("Run in the background, without a time limit unless timeout_s is set"),
        network: z.boolean().optional().describe("Run with network access"),
        outside_sandbox: z.boolean().optional()
          .describe("Run with all rights of the person, network included"),
        reason: z.string().min(1).max(REASON_MAX).optional()
          .describe("Why the command needs that, for the person"),
      }).refine((args) => accessWords(args) === undefined || args.reason !== undefined, {
        error: "reason is required with network and outside_sandbox",
      }),
      prepare: async (
        { command, timeout_s, reason, background, ...access },
      ): Promise<Command> => {
        const sandbox = await parts.sandbox();
        const asked = stillNeeded(access, sandbox.kind !== "none", parts.network());
        return {
          command,
          timeout_s,
          ...(background ? { background } : {}),
          ...asked,
          ...(accessWords(asked) ? { reason } : {}),
        };
      },
      describe: (args: Command) => named(args.background ? "run in the background" : "run", args),
      // The comma tells it from the rule of any command line that keeps to the sandbox.
      rule: (args: Command) =>
        named(accessWords(args) === undefined ? "run_command" : "run_command,", args),
      asks_in_auto: (args) => accessWords(args) !== undefined,
      beyond: accessWords,
      run: (args: Command, scope) =>
        args.background ? parts.startInBackground(args, scope) : execute(parts, args, scope),
    }),

    defineTool({
      name: "write_file",
      description: "Writes a file and creates its directories; replaces an existing file.",
      access: "write",
      locate,
      input: z.strictObject({ path: path(), content: z.string() }),
      describe: ({ path, content }) => `write ${path} (${content.length} characters)`,
      risk: ({ path }, workdir) => riskOf([path], workdir, parts.home),
      preview: trying("write_file", thePath),
      run: onFiles("write_file", thePath),
    }),
  ];
  return [...own, ...more].sort((a, b) => a.spec.name < b.spec.name ? -1 : 1);
}

/** What a step of a patch does to which file. */
function stepText(step: PatchStep): string {
  if (step.kind !== "update") return `${step.kind} ${step.path}`;
  return step.move_to === undefined ? step.path : `move ${step.path} to ${step.move_to}`;
}

/** Finds the one path of a call. */
function locating(parts: ToolParts): NonNullable<Tool["locate"]> {
  return async (args, scope) => {
    const { path } = args as { path?: string };
    const { paths, ...found } = await located(parts, path === undefined ? [] : [path], scope);
    return { args: path === undefined ? args : { ...args as object, path: paths[0] }, ...found };
  };
}

const PATCH_PATH = /^(\*\*\* (?:(?:Add|Update|Delete) File|Move to): )([^\r\n]+)/gm;

/** Finds the paths of a patch, which stand in its text. */
function locatingInPatch(parts: ToolParts): NonNullable<Tool["locate"]> {
  return async (args, scope) => {
    const { patch } = args as { patch: string };
    const given = [...patch.matchAll(PATCH_PATH)].map(([, , path]) => path);
    const { paths, ...found } = await located(parts, given, scope);
    let n = 0;
    const named = patch.replace(PATCH_PATH, (_, header) => header + paths[n++]);
    return { args: { patch: named }, ...found };
  };
}

async function located(
  { units, home }: ToolParts,
  paths: readonly string[],
  { signal, ...scope }: LocateScope,
): Promise<{ paths: readonly string[]; notes: string[]; problem?: string }> {
  const certain = (path: string) => !path.startsWith("~") && isPlainlyThere(path, scope.workdir);
  if (paths.every(certain)) return { paths, notes: [] };
  const { ok, output } = await units.call("locate", { paths, home }, scope, signal);
  if (!ok) return { paths, notes: [], problem: output };
  const found: Located[] = JSON.parse(output);
  return {
    paths: found.map(({ path }) => path),
    notes: found.flatMap(({ note }) => note === undefined ? [] : [note]),
  };
}

/** Spares the unit a call for most paths. Nothing is read, and nothing is followed. */
function isPlainlyThere(path: string, workdir: string): boolean {
  try {
    Deno.lstatSync(isAbsolute(path) ? path : join(workdir, path));
    return true;
  } catch {
    return false;
  }
}

const NONE: ReadonlySet<string> = new Set();

/** What runs one of these files later. The unit itself reports an invalid path. */
function riskOf(
  paths: readonly string[],
  workdir: string,
  home: string | undefined,
): Later | undefined {
  const risks = paths.flatMap((path) => {
    const absolute = isAbsolute(path) ? normalize(path) : join(workdir, path);
    if (stripWorkdir(absolute, workdir) === undefined) return [];
    return laterFile(absolute, home) ?? ledLater(absolute, workdir, { home, hidden: NONE }) ?? [];
  });
  // What asks only in some modes must not hide what asks in all of them.
  return risks.find(({ only }) => only !== "asked") ?? risks[0];
}

/** A verb and the command line; what it asks for stands before a line that may be long. */
function named(verb: string, { command, ...access }: Command): string {
  const words = accessWords(access);
  return words === undefined ? `${verb} ${command}` : `${verb} ${words}: ${command}`;
}

/** What a command has to ask for where these limits hold. */
function stillNeeded(
  { network, outside_sandbox }: CommandAccess,
  confined: boolean,
  has_network: boolean,
): CommandAccess {
  if (!confined) return {};
  if (outside_sandbox === true) return { outside_sandbox };
  return network === true && !has_network ? { network } : {};
}

/** A command line, as it was agreed to. */
export interface Command extends CommandAccess {
  command: string;
  timeout_s?: number;
  background?: boolean;
  reason?: string;
}

async function execute(
  parts: ToolParts,
  { command, timeout_s = COMMAND_TIMEOUT_S, network = false, outside_sandbox = false }: Command,
  { session_id, workdir, hidden, signal, onOutput, mayConnect }: ToolScope,
): Promise<ToolOutcome> {
  const space = await parts.space(session_id);
  const all = network || outside_sandbox || parts.network();
  await using way_out = all ? undefined : await parts.wayOut(session_id, decideHost(mayConnect));
  const scope = {
    session_id,
    workdir,
    hidden,
    space,
    checkout: space?.checkout,
    network: network || parts.network(),
    proxy: way_out?.proxy,
  };
  const sandbox = await (outside_sandbox ? parts.unconfined() : parts.sandbox());
  const result = await runCommand({
    command,
    scope,
    sandbox,
    timeout_ms: timeout_s * 1000,
    waited_ms: () => way_out?.waited_ms ?? 0,
    signal,
    onOutput,
  });
  const notes: string[] = [];
  if (result.timed_out) notes.push(`[stopped at the time limit of ${timeout_s} s]`);
  else if (result.signal !== null) notes.push(`[ended by ${result.signal}]`);
  else if (result.exit_code !== 0) notes.push(`[exit code ${result.exit_code}]`);
  const ok = notes.length === 0;
  notes.push(
    ...unseenPrograms(result, sandbox, scope),
    ...(ok ? [] : refusedByLimits(result.output, sandbox.limits?.())),
    ...onlyReadGit(result, sandbox, scope),
    ...(ok ? [] : refusedLater(result.output, workdir, {
      home: parts.home,
      hidden: new Set(hidden),
    })),
    ...refusalNotes(way_out),
  );
  const output = [result.output.trimEnd(), ...notes].filter((it) => it !== "").join("\n");
  return {
    ok,
    output,
    truncated: result.truncated,
    ...(result.exit_code === null ? {} : { exit_code: result.exit_code }),
  };
}

/** The exit code of a shell that does not find a program. */
const NOT_FOUND = 127;

/** Returns notes on programs that a command did not find although the machine has them. */
export function unseenPrograms(
  { exit_code, output }: { exit_code: number | null; output: string },
  sandbox: Sandbox,
  scope: SandboxScope,
): string[] {
  if (exit_code !== NOT_FOUND) return [];
  const named = output.matchAll(/(?:^|[\s'"])([\w.+-]+)['"]?: (?:command )?not found/gm);
  return [...new Set([...named].map(([, name]) => name))].flatMap((name) => {
    const path = sandbox.unseen(name, scope);
    return path === undefined ? [] : [`[${path} exists, but commands cannot see its directory]`];
  });
}

/** Returns a note for git that could not write a repository which commands can only read. */
function onlyReadGit(
  { exit_code, output }: { exit_code: number | null; output: string },
  sandbox: Sandbox,
  scope: SandboxScope,
): string[] {
  if (exit_code === 0 || !/read-only file system/i.test(output)) return [];
  const { directory, only_reads } = sandbox.around(scope) ?? {};
  if (only_reads === undefined || !output.includes(directory!)) return [];
  return [
    `[this command can only read ${directory}: ${only_reads}; the person can allow it with ` +
    "outside_sandbox, or start a session in the repository itself]",
  ];
}

interface Definition<I extends z.ZodType, P> {
  name: string;
  description: string;
  access: Access;
  waits?: boolean;
  once?: boolean;
  offered?: Tool["offered"];
  input: I;
  prepare?(args: z.output<I>, workdir: string, session_id: string): Promise<P>;
  describe(args: P): string;
  rule?(args: P): string;
  asks?(args: P): boolean;
  asks_in_auto?(args: P, workdir: string): boolean;
  beyond?(args: P): string | undefined;
  risk?(args: P, workdir: string): Later | undefined;
  locate?: Tool["locate"];
  preview?(args: P, scope: PreviewScope): Promise<Preview>;
  run(args: P, scope: ToolScope): Promise<ToolOutcome>;
}

/** Defines a tool; its arguments are typed by their schema. */
export function defineTool<I extends z.ZodType, P = z.output<I>>(
  definition: Definition<I, P>,
): Tool {
  const { name, description, access, input, describe } = definition;
  const { rule = () => name, asks = () => true, asks_in_auto = () => false } = definition;
  const { risk = () => undefined, beyond = () => undefined, waits, once, offered } = definition;
  const always = (later: Later | undefined) => later !== undefined && later.only !== "asked";
  const { locate, preview } = definition;
  const { $schema: _, ...input_schema } = z.toJSONSchema(input) as Record<string, unknown>;
  return {
    spec: { name, description, input_schema },
    access,
    whole: definition.rule === undefined,
    own: true,
    waits,
    once,
    offered,
    locate,
    ...(preview && { preview: (args, scope) => preview(args as P, scope) }),
    parse(args) {
      const parsed = input.safeParse(args);
      return parsed.success ? { args: parsed.data } : { problem: z.prettifyError(parsed.error) };
    },
    prepare: async (args, workdir, session_id) =>
      await definition.prepare?.(args as z.output<I>, workdir, session_id) ?? args,
    describe: (args) => describe(args as P),
    rule: (args) => rule(args as P),
    asks: (args) => asks(args as P),
    asks_in_auto: (args, workdir) =>
      asks_in_auto(args as P, workdir) || always(risk(args as P, workdir)),
    beyond: (args) => beyond(args as P),
    risk: (args, workdir) => risk(args as P, workdir),
    run: async (args, scope) => capped(await definition.run(args as P, scope)),
  };
}

/** Notes at the end of an output, such as where to continue. */
const LAST_NOTES = /(?:\n\[[^\n]{1,500}\])+$/;

/** Cuts the output of an outcome to the limit, but not its last notes. */
export function capped(outcome: ToolOutcome): ToolOutcome {
  if (outcome.output.length <= OUTPUT_MAX) return outcome;
  const left_out = outcome.output.length - OUTPUT_MAX;
  const [notes = ""] = outcome.output.slice(OUTPUT_MAX).match(LAST_NOTES) ?? [];
  const output = `${outcome.output.slice(0, OUTPUT_MAX)}\n[… ${left_out} more characters omitted]` +
    notes;
  return { ...outcome, output, truncated: true };
}
