/** A tool: its definition, what it gets for a call, and what it returns. */
import type { AddedDirectory } from "../protocol/added_directory.ts";
import type { CommandAccess } from "../protocol/command_access.ts";
import * as z from "zod";
import type { OnOutput } from "../base/redraw.ts";
import type { Media } from "../base/media.ts";
import type { PersonQuestion } from "../protocol/person_question.ts";
import type { QuestionOutcome } from "../session/person_answers.ts";
import type { ToolSpec } from "../models/model.ts";
import type { Egress } from "../net/egress.ts";
import type { FileChange } from "../base/edits/changes.ts";
import type { Attachment } from "../protocol/attachments.ts";
import type { Journal } from "../session/journal.ts";
import type { SessionState } from "../session/session_state.ts";
import type { AddedRoot } from "../jail/added_directories.ts";
import type { Later } from "../jail/runs_later.ts";
import type { CommandSpace } from "../jail/command_space.ts";
import type { Granted, Sandbox } from "../jail/sandbox.ts";
import type { Grant } from "../jail/grants.ts";
import type { DecideHost, MayConnect, WayOut } from "./way_out.ts";
import type { UnitPool } from "../jail/unit/pool.ts";
import { OUTPUT_MAX } from "../jail/unit/protocol.ts";

/** The effect of a call; decides which calls may run concurrently and which need approval. */
export type Access = "read" | "write" | "execute" | "network";

export interface ToolScope {
  session_id: string;
  call_id: string;
  /** The conversation that the call reads for; default: the session's own. */
  reader?: string;
  /** Absolute real path; the call is confined to it. */
  workdir: string;
  /** Absolute real paths that no tool may see. */
  hidden: readonly string[];
  /** The directories besides the session's own that its calls may use. */
  added: readonly AddedRoot[];
  /** Stands before the paths that a search finds: the call works in an added directory. */
  prefix?: string;
  signal: AbortSignal;
  /** Receives output while the call is still running. */
  onOutput: OnOutput;
  /** Why an address must not be fetched; for tools that reach the network. */
  mayReach?(url: string): Promise<string | undefined>;
  /** Decides whether a command may connect to a host; for tools that run commands. */
  mayConnect?: MayConnect;
  /** Asks the person and waits for the answer. */
  askPerson(question: PersonQuestion): Promise<QuestionOutcome>;
  /** Runs a subagent, if the call can have one. */
  delegate?(subagent: Subagent): Promise<SubagentEnd>;
}

/** An agent that does a task for a call, with its own conversation. */
export interface Subagent {
  call_id: string;
  /** A few words, for the person. */
  description: string;
  /** Its complete instructions. */
  task: string;
  /** Default: the session's. */
  model?: string;
  /** `read`: only those that change nothing. */
  tools: "read" | "all";
  signal: AbortSignal;
  max_ms: number;
}

export interface SubagentEnd {
  ok: boolean;
  /** Its answer, or what it did and why it ended. */
  text: string;
}

export interface ToolOutcome {
  ok: boolean;
  output: string;
  truncated?: boolean;
  /** Characters of a command's output that are not plain, for people (`base/looks.ts`). */
  looks?: readonly number[];
  /** Set for a command that ran to its end. */
  exit_code?: number;
  /** What it has changed in files, for people, where its arguments do not show all. */
  changes?: readonly FileChange[];
  /** Images and documents for the model: new ones, and those that the session already has. */
  media?: readonly Media[];
  attachments?: readonly Attachment[];
}

export type LocateScope = Pick<
  ToolScope,
  "session_id" | "workdir" | "hidden" | "added" | "signal"
>;

export type PreviewScope = LocateScope & Pick<ToolScope, "reader">;

export interface Preview {
  problem?: string;
  changes?: FileChange[];
}

/** The arguments with the paths as they are on disk. */
export interface LocatedArgs {
  args: unknown;
  notes: string[];
  /** The added directory that the call works in. */
  root?: AddedRoot;
  /** Why it is not certain which file is meant. */
  problem?: string;
}

export interface Tool {
  spec: ToolSpec;
  access: Access;
  /** Whether a call waits for the person, and therefore never gets a lane. */
  waits?: boolean;
  /** Whether a call that has started a subagent must not run again, although it only reads. */
  once?: boolean;
  /** Whether the same call again has no further effect, so that one that was cut off is repeated. */
  idempotent?: boolean;
  /** Whether a session has it; default: every session. */
  offered?(session: Pick<SessionState, "trust">): boolean;
  parse(args: unknown): { args?: unknown; problem?: string };
  /** Finds the files that a call means; its notes for the model come with the result. */
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
  /** Whether a call acts in the session's directories only, so that `workspace` runs it. */
  stays?(args: unknown, session_id: string): Promise<boolean>;
  /** What limits the call, for the person; undefined where the whole sandbox does. */
  held?(args: unknown, session_id: string): Promise<string | undefined>;
  /** Whether `rule` is the same for all its calls, and stands for the whole tool. */
  readonly whole?: boolean;
  /** Whether its parameter names are svc's own. */
  readonly own?: boolean;
  /** Whether a project chose its name, which then says nothing about its effect. */
  readonly foreign?: boolean;
  run(args: unknown, scope: ToolScope): Promise<ToolOutcome>;
}

/** A tool as rules see it. */
export type Judged = Pick<Tool, "access" | "foreign" | "rule" | "whole"> & {
  spec: Pick<ToolSpec, "name">;
};

/** A command line as approved. */
export interface Command extends CommandAccess {
  command: string;
  timeout_s?: number;
  background?: boolean;
  reason?: string;
  /** What it reaches of the machine; absent without any. */
  granted?: readonly Grant[];
}

export interface ToolParts {
  units: UnitPool;
  /** Chosen at the first command. */
  sandbox(): Promise<Sandbox>;
  /** Runs commands that the person lets out of the sandbox. */
  unconfined(): Promise<Sandbox>;
  /** Whether commands of a session currently reach the whole network. */
  network(session_id: string): Promise<boolean>;
  /** Opens the proxy for one command; undefined if commands get no network, or all of it. */
  wayOut(session_id: string, decide?: DecideHost): Promise<WayOut | undefined>;
  /** Directories of a session that outlive one command; undefined without a sandbox. */
  space(session_id: string): Promise<CommandSpace | undefined>;
  /** What the person grants to commands, of a session or their own. */
  granted(session_id?: string): Promise<Granted>;
  /**
   * Checks the paths that a command asks for; what it could use anyway is left out.
   *
   * @throws {SvcError} validation, with the rule that a path breaks
   */
  asked(session_id: string, paths: readonly AddedDirectory[]): Promise<AddedDirectory[]>;
  /** Returns the allowed paths as roots. @throws {SvcError} conflict, if one is not there */
  opened(paths: readonly AddedDirectory[]): AddedRoot[];
  home?: string;
  /** The daemon's own port, which no tool may fetch from. */
  own_port(): number;
  /** Opens the egress of an untrusted session; undefined if it may reach any address. */
  egress(session_id: string): Promise<Egress | undefined>;
  journal(session_id: string): Promise<Journal>;
  startInBackground(command: Command, scope: ToolScope): Promise<ToolOutcome>;
}

interface Definition<I extends z.ZodType, P>
  extends Pick<Tool, "access" | "waits" | "once" | "offered" | "locate"> {
  name: string;
  description: string;
  input: I;
  prepare?(args: z.output<I>, workdir: string, session_id: string): Promise<P>;
  describe(args: P): string;
  rule?(args: P): string;
  asks?(args: P): boolean;
  asks_in_auto?(args: P, workdir: string): boolean;
  beyond?(args: P): string | undefined;
  stays?(args: P, session_id: string): Promise<boolean>;
  held?(args: P, session_id: string): Promise<string | undefined>;
  risk?(args: P, workdir: string): Later | undefined;
  preview?(args: P, scope: PreviewScope): Promise<Preview>;
  run(args: P, scope: ToolScope): Promise<ToolOutcome>;
}

/** Defines a tool; its schema types its arguments. */
export function defineTool<I extends z.ZodType, P = z.output<I>>(
  definition: Definition<I, P>,
): Tool {
  const { name, description, access, input, describe } = definition;
  const { rule = () => name, asks = () => true, asks_in_auto = () => false } = definition;
  const { risk = () => undefined, beyond = () => undefined, waits, once, offered } = definition;
  const always = (later: Later | undefined) => later !== undefined && later.only !== "asked";
  const { locate, preview, stays, held } = definition;
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
    ...(stays && { stays: (args, session_id) => stays(args as P, session_id) }),
    ...(held && { held: (args, session_id) => held(args as P, session_id) }),
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
