/**
 * The built-in tools, each with the schema of its arguments, in the order in which models see them.
 */
import * as z from "zod";
import { parsePatch, type PatchStep, pathsOf } from "../base/edits/patch.ts";
import { editSchema } from "../protocol/schemas/edit.ts";
import { accessWords } from "../protocol/command_access.ts";
import { READ_EARLIER } from "../protocol/events.ts";
import { heldText } from "../jail/holds.ts";
import { ledIn } from "../jail/later_locks.ts";
import type { Grant } from "../jail/grants.ts";
import { laterFile } from "../jail/runs_later.ts";
import type { UnitOp } from "../jail/unit/pool.ts";
import { describeChange, KnownFiles } from "../jail/unit/known_files.ts";
import {
  type Command,
  defineTool,
  type Preview,
  type PreviewScope,
  type Tool,
  type ToolOutcome,
  type ToolParts,
  type ToolScope,
} from "./tool.ts";
import { COMMAND_TIMEOUT_S, execute, named, riskOf, stillNeeded } from "./run_command.ts";
import { locating, locatingInPatch, locatingPattern } from "./locate.ts";

/** The longest time limit that a model may set for a command, in seconds. */
export const COMMAND_TIMEOUT_MAX_S = 3_600;

/** The longest reason that a person is shown for a call, in characters. */
const REASON_MAX = 500;

/** The most paths that a command may ask for. */
const PATHS_MAX = 10;

/** The most edits of one file in one call. */
const EDITS_MAX = 100;

export const path = () => z.string().min(1).describe("Path inside the working directory");

/** Returns the built-in tools and those of features, sorted by name. */
export function builtinTools(parts: ToolParts, more: readonly Tool[]): Tool[] {
  const inUnit = (op: UnitOp) => (args: unknown, { signal, ...scope }: ToolScope) =>
    parts.units.call(op, args, scope, signal);
  const known_files = new KnownFiles();
  /** What the unit itself cannot know about files that run later. */
  const leadsFor = (op: UnitOp, { workdir, hidden }: Pick<ToolScope, "workdir" | "hidden">) =>
    op === "read_file"
      ? undefined
      : [...ledIn(workdir, { home: parts.home, hidden: new Set(hidden) })];
  /** Calls the unit about whole files, which must be as the session last saw them. */
  const callOnFiles = async (
    op: UnitOp,
    args: { dry?: true },
    paths: readonly string[],
    { signal, ...scope }: PreviewScope,
  ) => {
    const { session_id, workdir, reader = session_id } = scope;
    const seen = known_files.of(reader, workdir, paths);
    const leads = leadsFor(op, scope);
    const result = await parts.units.call(op, { ...args, seen, leads }, scope, signal);
    // Files that a dry run reads count as not read.
    if (!args.dry) known_files.note(reader, workdir, result);
    if (result.changed === undefined) return { result };
    const { text, whole } = await describeChange(result.changed);
    if (whole) known_files.note(reader, workdir, { ...result, files: [result.changed.now!] });
    return { result, change: text };
  };
  const onFiles =
    <A extends object>(op: UnitOp, pathsIn: (args: A) => string[]) =>
    async (args: A, scope: ToolScope): Promise<ToolOutcome> => {
      const { result, change } = await callOnFiles(op, args, pathsIn(args), scope);
      const { ok, output, media, changes } = result;
      if (change !== undefined) return { ok, output: change };
      return { ok, output, ...(media && { media }), ...(changes && { changes }) };
    };
  /** Tries what onFiles runs. */
  const trying =
    <A extends object>(op: UnitOp, pathsIn: (args: A) => string[]) =>
    async (args: A, scope: PreviewScope): Promise<Preview> => {
      const dry = { ...args, dry: true } as const;
      const { result, change } = await callOnFiles(op, dry, pathsIn(args), scope);
      if (change !== undefined || !result.ok) return { problem: change ?? result.output };
      return { changes: result.changes ?? [] };
    };
  const thePath = ({ path }: { path: string }) => [path];
  const always = () => Promise.resolve(true);
  const locate = locating(parts, "read");
  const locate_to_write = locating(parts, "write");
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
      stays: always,
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
      locate: locate_to_write,
      stays: always,
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
      locate: locatingPattern(parts),
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
        "network, paths and outside_sandbox ask the person to let this one command do more; use them " +
        "when the sandbox is what stops the work, and say why in reason.",
      access: "execute",
      stays: ({ granted = [] }: Command, session_id) => isConfined(parts, granted, session_id),
      input: z.strictObject({
        command: z.string().min(1),
        timeout_s: z.int().min(1).max(COMMAND_TIMEOUT_MAX_S).optional()
          .describe(`Time limit in seconds (default: ${COMMAND_TIMEOUT_S})`),
        background: z.boolean().optional()
          .describe("Run in the background, without a time limit unless timeout_s is set"),
        network: z.boolean().optional().describe("Run with network access"),
        paths: z.array(z.strictObject({
          path: z.string().min(1),
          access: z.enum(["read", "write"]).default("read"),
        })).max(PATHS_MAX).optional()
          .describe("Files and directories outside of the working directory that it may use"),
        outside_sandbox: z.boolean().optional()
          .describe("Run with all rights of the person, network included"),
        reason: z.string().min(1).max(REASON_MAX).optional()
          .describe("Why the command needs that, for the person"),
      }).refine((args) => accessWords(args) === undefined || args.reason !== undefined, {
        error: "reason is required with network, paths and outside_sandbox",
      }),
      prepare: async (
        { command, timeout_s, reason, background, ...access },
        _workdir,
        session_id,
      ): Promise<Command> => {
        const sandbox = await parts.sandbox();
        const needed = stillNeeded(
          access,
          sandbox.kind !== "none",
          await parts.network(session_id),
        );
        const paths = await parts.asked(session_id, needed.paths ?? []);
        const asked = { ...needed, paths: paths.length > 0 ? paths : undefined };
        const { grants: granted = [] } = await parts.granted(session_id);
        return {
          command,
          timeout_s,
          ...(background ? { background } : {}),
          ...asked,
          ...(accessWords(asked) ? { reason } : {}),
          ...(granted.length > 0 ? { granted } : {}),
        };
      },
      describe: (args: Command) => named(args.background ? "run in the background" : "run", args),
      // The comma distinguishes it from a rule for any command line inside the sandbox.
      rule: ({ granted: _, ...args }: Command) =>
        named(accessWords(args) === undefined ? "run_command" : "run_command,", args),
      asks_in_auto: (args) => accessWords(args) !== undefined,
      beyond: accessWords,
      risk: ({ paths = [] }: Command) =>
        paths.filter(({ access }) => access === "write")
          .map(({ path }) => laterFile(path, parts.home)).find((later) => later !== undefined),
      async held({ network, outside_sandbox }, session_id) {
        if (outside_sandbox) return undefined;
        return heldText(await parts.sandbox(), network === true || await parts.network(session_id));
      },
      run: (args: Command, scope) =>
        args.background ? parts.startInBackground(args, scope) : execute(parts, args, scope),
    }),

    defineTool({
      name: "write_file",
      description: "Writes a file and creates its directories; replaces an existing file.",
      access: "write",
      locate: locate_to_write,
      stays: always,
      input: z.strictObject({ path: path(), content: z.string() }),
      describe: ({ path, content }) => `write ${path} (${content.length} characters)`,
      risk: ({ path }, workdir) => riskOf([path], workdir, parts.home),
      preview: trying("write_file", thePath),
      run: onFiles("write_file", thePath),
    }),
  ];
  return [...own, ...more].sort((a, b) => a.spec.name < b.spec.name ? -1 : 1);
}

/** Whether commands can reach nothing but the session's directories and allowed hosts. */
export async function isConfined(
  { sandbox, network }: Pick<ToolParts, "sandbox" | "network">,
  granted: readonly Grant[],
  session_id: string,
): Promise<boolean> {
  return granted.length === 0 && !await network(session_id) &&
    (await sandbox()).kind === "bubblewrap";
}

/** Describes a step of a patch. */
function stepText(step: PatchStep): string {
  if (step.kind !== "update") return `${step.kind} ${step.path}`;
  return step.move_to === undefined ? step.path : `move ${step.path} to ${step.move_to}`;
}
