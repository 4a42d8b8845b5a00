/**
 * Handles an agent's requests with the session's tools, their jail and their approvals, and records
 * them as calls of those tools.
 */
import {
  type CreateTerminalRequest,
  type PermissionOption,
  type PermissionOptionKind,
  type ReadTextFileRequest,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type ToolKind,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import { type CallContext, runCall } from "../../agent/calls.ts";
import type { Tool, ToolOutcome, ToolScope } from "../../agent/tool.ts";
import type { Decision } from "../../protocol/events.ts";
import { commandLine } from "./command_line.ts";
import { insideOf, type KnownCall, type OwnEdit, ownEdits } from "./own_edits.ts";
import { Terminal } from "./terminal.ts";

/** The agent can stop a command earlier. */
const COMMAND_TIMEOUT_S = 3_600;
const TERMINALS_MAX = 32;
/** Allowed in a read-only session. */
const READING: ReadonlySet<ToolKind> = new Set(["read", "search", "think"]);

const NOT_ASKED =
  "nobody was asked: the agent cannot write here itself, and its request has no whole diff for svc";

interface RequestParts {
  context: CallContext;
  /** Called before a call is recorded: the agent's text so far comes first. */
  beforeCall(): Promise<void>;
  new_call_id(): string;
  known(id: string): KnownCall;
  /** Sets the outcome of an agent's own call, whatever the agent reports. */
  settle(id: string, outcome: ToolOutcome): void;
  /** Returns a file's whole text. */
  readText(path: string, scope: ToolScope): Promise<ToolOutcome>;
}

export class AgentRequests {
  readonly #parts: RequestParts;
  readonly #terminals = new Map<string, Terminal>();
  /** Files that svc wrote for the agent in this turn. */
  readonly #written = new Set<string>();
  #next_terminal = 1;

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  async readFile({ path, line, limit }: ReadTextFileRequest): Promise<{ content: string }> {
    const inside = this.#inside(path);
    let text = "";
    const tool: Tool = {
      ...this.#tool("read_file"),
      run: async (_args, scope) => {
        const outcome = await this.#parts.readText(inside, scope);
        if (!outcome.ok) return outcome;
        await this.#look(inside);
        text = linesOf(outcome.output, line ?? 1, limit ?? Infinity);
        return { ok: true, output: `${text.length} characters` };
      },
    };
    const args = { path: inside, ...(line && { offset: line }), ...(limit && { limit }) };
    await this.#succeed(tool, args);
    return { content: text };
  }

  async writeFile({ path, content }: WriteTextFileRequest): Promise<Record<string, never>> {
    const inside = this.#inside(path);
    if (await this.#isWritten(inside, content)) return {};
    await this.#succeed(this.#tool("write_file"), { path: inside, content });
    return {};
  }

  /** Whether the file already has this text after an approval, so that nobody is asked twice. */
  async #isWritten(path: string, content: string): Promise<boolean> {
    if (!this.#written.has(path)) return false;
    const { ok, output } = await this.#parts.readText(path, this.#scope());
    const lines = (text: string) => text.replaceAll("\r\n", "\n");
    return ok && lines(output) === lines(content);
  }

  /** @returns once the command runs, possibly after an approval */
  async createTerminal(wanted: CreateTerminalRequest): Promise<{ terminalId: string }> {
    if (this.#terminals.size === TERMINALS_MAX) {
      throw RequestError.invalidRequest(undefined, `${TERMINALS_MAX} terminals are already open`);
    }
    const terminal = new Terminal(wanted.outputByteLimit ?? undefined);
    const run_command = this.#tool("run_command");
    const started = Promise.withResolvers<void>();
    const tool: Tool = {
      ...run_command,
      run(args, scope) {
        started.resolve();
        return run_command.run(args, {
          ...scope,
          signal: AbortSignal.any([scope.signal, terminal.signal]),
          onOutput(text, redraws) {
            terminal.add(text, redraws);
            scope.onOutput(text, redraws);
          },
        });
      },
    };
    const { command, args, env, cwd } = wanted;
    const line = commandLine({ command, args, env, cwd: cwd ? this.#inside(cwd) : undefined });
    const call = this.#call(tool, { command: line, timeout_s: COMMAND_TIMEOUT_S });
    terminal.follow(call);
    const refused = await Promise.race([started.promise, call]);
    if (refused !== undefined) throw new RequestError(-32603, refused.output);
    const terminalId = `terminal-${this.#next_terminal++}`;
    this.#terminals.set(terminalId, terminal);
    return { terminalId };
  }

  /** @throws {RequestError} for an unknown id */
  terminal(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal === undefined) throw RequestError.resourceNotFound(id);
    return terminal;
  }

  release(id: string): void {
    this.terminal(id).kill();
    this.#terminals.delete(id);
  }

  /** Stops running commands. */
  async close(): Promise<void> {
    for (const terminal of this.#terminals.values()) terminal.kill();
    await Promise.all([...this.#terminals.values()].map(({ ended }) => ended));
  }

  /** Asks the person about the agent's own action. */
  async permission(asked: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const decision = await this.#decide(asked);
    // svc remembers `always` by what the call does; an agent may remember it by its title.
    const allowed: PermissionOptionKind[] = ["allow_once", "allow_always"];
    const denied: PermissionOptionKind[] = ["reject_once", "reject_always"];
    const option = firstOf(asked.options, decision === "deny" ? denied : allowed);
    if (option === undefined) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  }

  async #decide({ toolCall }: RequestPermissionRequest): Promise<Decision> {
    const { context: { session, turn }, new_call_id, known } = this.#parts;
    const { approval, workdir } = session.state;
    if (approval === "auto") return "allow";
    const call = { ...known(toolCall.toolCallId), ...withoutGaps(toolCall) };
    const { title, rawInput: input, content, locations } = call;
    const kind = call.kind ?? "other";
    if (approval === "read_only") return READING.has(kind) ? "allow" : "deny";
    const edits = ownEdits(call, workdir);
    if (edits !== undefined) return await this.#carryOut(toolCall.toolCallId, edits);
    const tool = `agent_${kind}`;
    const reason = title ?? tool;
    const args = JSON.parse(JSON.stringify({ input, content, locations }));
    const call_id = new_call_id();
    // Without its input, a call's effect is unknown, so the next one asks again.
    const does = input === undefined ? `once, as ${call_id}` : JSON.stringify([reason, args]);
    const rule = `${session.state.model} ${kind}: ${does}`;
    return await session.approvals.ask({ call_id, tool, args, reason, rule }, {
      signal: turn.soft,
    });
  }

  /** Makes the agent's edits with the approvals of the session's tools. */
  async #carryOut(id: string, edits: readonly OwnEdit[]): Promise<Decision> {
    const outputs: string[] = [];
    for (const edit of edits) {
      // The agent's view of the file may be old. The file must still be what the person saw.
      const { ok: exists } = await this.#look(edit.path);
      const { name, args } = callOf(edit);
      const tool = this.#tool(name);
      const { ok, output } = await this.#call(exists ? tool : this.#onlyNew(tool, edit.path), args);
      outputs.push(output);
      if (!ok) {
        this.#parts.settle(id, { ok, output: outputs.join("\n") });
        return "deny";
      }
      this.#written.add(edit.path);
    }
    const ok = edits.length > 0;
    this.#parts.settle(id, { ok, output: ok ? outputs.join("\n") : NOT_ASKED });
    return ok ? "allow" : "deny";
  }

  /** For a file that did not exist when the agent asked. */
  #onlyNew(tool: Tool, path: string): Tool {
    return {
      ...tool,
      run: async (args, scope) => {
        if (!(await this.#look(path)).ok) return await tool.run(args, scope);
        return { ok: false, output: `${path}: was created meanwhile; nothing was written` };
      },
    };
  }

  /** Shows the session's tools the current file. */
  #look(path: string): Promise<ToolOutcome> {
    return this.#tool("read_file").run({ path }, this.#scope());
  }

  #scope(): ToolScope {
    const { context: { parts, session, turn }, new_call_id } = this.#parts;
    return {
      session_id: session.id,
      call_id: new_call_id(),
      reader: session.reader,
      workdir: session.state.workdir,
      hidden: parts.hidden(session),
      added: [],
      signal: turn.signal,
      onOutput() {},
      askPerson: () => Promise.resolve("nobody"),
    };
  }

  #tool(name: string): Tool {
    return this.#parts.context.tools.find(({ spec }) => spec.name === name)!;
  }

  async #succeed(tool: Tool, args: unknown): Promise<void> {
    const { ok, output } = await this.#call(tool, args);
    if (!ok) throw new RequestError(-32603, output);
  }

  async #call(tool: Tool, args: unknown): Promise<ToolOutcome> {
    const { context, beforeCall, new_call_id } = this.#parts;
    await beforeCall();
    const call = { call_id: new_call_id(), tool: tool.spec.name, args };
    return await runCall({ ...context, tools: [tool] }, call);
  }

  /** Returns a path for the tools, which check that it really stays inside. */
  #inside(path: string): string {
    const { workdir } = this.#parts.context.session.state;
    const inside = insideOf(path, workdir);
    if (inside === undefined) {
      throw RequestError.invalidParams(undefined, `${path} is outside ${workdir}`);
    }
    return inside;
  }
}

function callOf(edit: OwnEdit): { name: string; args: unknown } {
  const { path } = edit;
  if ("deleted" in edit) {
    const patch = `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch\n`;
    return { name: "apply_patch", args: { patch } };
  }
  if ("content" in edit) return { name: "write_file", args: { path, content: edit.content } };
  const { edits } = edit;
  return { name: "edit_file", args: edits.length === 1 ? { path, ...edits[0] } : { path, edits } };
}

/** Drops empty fields: an update omits what has not changed. */
function withoutGaps(call: KnownCall): KnownCall {
  return Object.fromEntries(Object.entries(call).filter(([, value]) => value != null));
}

function firstOf(
  options: readonly PermissionOption[],
  kinds: readonly PermissionOptionKind[],
): PermissionOption | undefined {
  for (const wanted of kinds) {
    const option = options.find(({ kind }) => kind === wanted);
    if (option !== undefined) return option;
  }
  return undefined;
}

/** Returns lines of a text; the first line is 1. */
function linesOf(text: string, first: number, count: number): string {
  const start = Math.max(first, 1) - 1;
  if (start === 0 && count === Infinity) return text;
  return text.split("\n").slice(start, start + count).join("\n");
}
