/**
 * Runs sessions whose turns an ACP agent answers. The agent runs in the sandbox of commands, and
 * its requests use the session's tools. The journal is its memory: a new agent gets the
 * conversation.
 */
import { criticised, type TurnParts } from "../../agent/loop.ts";
import type { AddedRoot } from "../../jail/added_directories.ts";
import type { Checkout } from "../../jail/git_around.ts";
import { programArgv, type Sandbox, type SandboxScope } from "../../jail/sandbox.ts";
import type { Tool, ToolOutcome, ToolScope } from "../../agent/tool.ts";
import { spentBudget } from "../../agent/budget.ts";
import { StdioTransport } from "../tool_servers/stdio.ts";
import type { Log } from "../../os/log.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Env } from "../../os/paths.ts";
import type { Session } from "../../session/session.ts";
import type { Turn, TurnEnd } from "../../session/turn.ts";
import { type AcpEntry, acpEntry, acpName } from "../../models/acp_entry.ts";
import { Agent } from "./agent.ts";
import { promptOf } from "./prompt.ts";
import { AgentRequests } from "./requests.ts";
import { TurnEvents } from "./turn_events.ts";

interface AgentsOptions extends TurnParts {
  /** `[acp]` of daemon.toml. */
  entries(): Readonly<Record<string, AcpEntry>>;
  env: Env;
  log: Log;
  version: string;
  sandbox(): Promise<Sandbox>;
  scope(workdir: string): SandboxScope;
  /** What commands of trusted sessions may see of the checkout around a directory. */
  checkout(workdir: string): Checkout;
  /** Reports the agent's own writes until the returned function is called. */
  watchWrites(session: Session): Promise<() => Promise<void>>;
  tools: readonly Tool[];
  readText(path: string, scope: ToolScope): Promise<ToolOutcome>;
  new_call_id(): string;
}

/** How long an idle agent is kept. */
const IDLE_MS = 10 * 60_000;
/** Precedes the first prompt in a session that asks. */
const ASKS = "In this session, your own process cannot write in the working directory. To change " +
  "a file, write it through the client, or ask permission with the whole diff: the client then " +
  "writes what the person allows. If your own write fails after that with EROFS, the file has its " +
  "new content all the same; do not write it again.\n\n";
/** In bytes. */
const MESSAGE_MAX = 16 * 1024 * 1024;

interface Hosted {
  agent: Agent;
  model: string;
  idle?: ReturnType<typeof setTimeout>;
  /** Whether it cannot write to the session's directory itself. */
  read_only: boolean;
  /** The added directories that it sees. */
  added: string;
  endWatch(): Promise<void>;
  /** Reported so far. */
  usd: number;
}

export class Agents {
  readonly #options: AgentsOptions;
  readonly #hosted = new Map<string, Hosted>();

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  async runTurn(session: Session, turn: Turn): Promise<TurnEnd> {
    if (session.state.trust !== "trusted") {
      return { stop_reason: "error", error: "hired work cannot use agents of acp/…" };
    }
    await this.#options.recall(session, turn);
    for (;;) {
      if (turn.soft.aborted) return { stop_reason: "interrupted" };
      const spent = spentBudget(session.state, this.#options.budget_usd());
      if (spent !== undefined) return { stop_reason: "budget", error: spent };
      const end = await this.#prompt(session, turn);
      if (end.stop_reason !== "ok") return end;
      if (!session.holdFresh()) return await criticised(session, this.#options);
    }
  }

  async sessionEnded(session_id: string): Promise<void> {
    const hosted = this.#hosted.get(session_id);
    if (hosted === undefined) return;
    this.#hosted.delete(session_id);
    clearTimeout(hosted.idle);
    await hosted.agent.close();
    await hosted.endWatch();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#hosted.keys()].map((id) => this.sessionEnded(id)));
  }

  async #prompt(session: Session, turn: Turn): Promise<TurnEnd> {
    // The agent itself may write to the directory.
    if (session.state.approval === "auto") await this.#options.beforeWrite?.(session, turn);
    const { hosted, fresh } = await this.#hostedFor(session);
    try {
      return await this.#ask(hosted, fresh, session, turn);
    } catch (error) {
      await this.sessionEnded(session.id);
      throw error;
    } finally {
      if (this.#hosted.get(session.id) === hosted) {
        hosted.idle = setTimeout(() => this.sessionEnded(session.id), IDLE_MS);
      }
    }
  }

  /** @param fresh whether the agent does not know the conversation yet */
  async #ask(hosted: Hosted, fresh: boolean, session: Session, turn: Turn): Promise<TurnEnd> {
    let transcript = await session.transcript();
    while (!session.takeFresh()) transcript = await session.transcript();
    const seen_seq = session.published_seq;
    const messages = transcript.messages();
    const prompt = await promptOf(session, messages, { fresh, takes: hosted.agent.takes });
    if (fresh && session.state.approval === "ask") prompt.unshift({ type: "text", text: ASKS });
    const { tools, readText, new_call_id } = this.#options;
    const events = new TurnEvents({ session, turn, seen_seq, new_call_id });
    const requests = new AgentRequests({
      context: { parts: this.#options, tools, session, turn },
      beforeCall: () => {
        events.answered = true;
        return events.closeStep();
      },
      new_call_id,
      known: events.known.bind(events),
      settle: events.settle.bind(events),
      readText,
    });
    try {
      const side = { requests, update: events.take.bind(events) };
      const reason = await hosted.agent.prompt(prompt, side, turn.soft);
      if (turn.soft.aborted) return { stop_reason: "interrupted" };
      const end = endOf(reason);
      if (end.stop_reason !== "ok" || events.answered) return end;
      return { stop_reason: "empty", error: "the agent answered with nothing" };
    } finally {
      await requests.close();
      hosted.usd = await events.end(hosted.usd);
    }
  }

  /** `fresh` if it was just started. */
  async #hostedFor(session: Session): Promise<{ hosted: Hosted; fresh: boolean }> {
    const { model } = session.state;
    const known = this.#hosted.get(session.id);
    const read_only = session.state.approval !== "auto";
    const roots = this.#options.added(session);
    const added = JSON.stringify(roots);
    const fits = known?.model === model && known.read_only === read_only && known.added === added;
    if (known !== undefined && !known.agent.gone && fits) {
      clearTimeout(known.idle);
      return { hosted: known, fresh: false };
    }
    await this.sessionEnded(session.id);
    const endWatch = read_only ? async () => {} : await this.#options.watchWrites(session);
    const agent = await this.#open(session, read_only, roots).catch(async (error) => {
      await endWatch();
      throw error;
    });
    const hosted: Hosted = { agent, model, read_only, added, endWatch, usd: 0 };
    this.#hosted.set(session.id, hosted);
    return { hosted, fresh: true };
  }

  /** @param read_only whether its writes need the session's tools */
  async #open(
    { id, state }: Session,
    read_only: boolean,
    added: readonly AddedRoot[],
  ): Promise<Agent> {
    const { workdir, model, approval } = state;
    const { entries, env, log, version, scope, checkout } = this.#options;
    const sandbox = await this.#options.sandbox();
    if (read_only && sandbox.kind === "none") {
      throw new SvcError(
        "permission_denied",
        `${model} cannot be restricted to approval ${approval}: ${
          sandbox.note ?? "there is no sandbox"
        }`,
        { hint: "install bubblewrap, or start the session with approval auto" },
      );
    }
    const { command, args, env: names, network } = acpEntry(acpName(model)!, entries());
    const values = names.flatMap((name) => {
      const value = env(name);
      return value === undefined ? [] : [[name, value]];
    });
    const spawned = programArgv(sandbox, [command, ...args], {
      ...scope(workdir),
      added,
      // It outlives the start of other sessions, so it never sees the directories around its own.
      checkout: state.trust === "trusted" ? { ...checkout(workdir), top: undefined } : undefined,
      read_only,
      network,
      env: Object.fromEntries(values),
    });
    const transport = new StdioTransport({
      command: spawned.cmd,
      args: spawned.args,
      env: spawned.env,
      started: spawned.started,
      cwd: workdir,
      max_bytes: MESSAGE_MAX,
      onStderr: (line) => log.debug("an agent's output", { session_id: id, line }),
    });
    return await Agent.open(transport, { workdir, version });
  }
}

function endOf(reason: string): TurnEnd {
  if (reason === "end_turn") return { stop_reason: "ok" };
  if (reason === "refusal") return { stop_reason: "refused", error: "the agent refused to answer" };
  if (reason === "max_tokens") {
    return { stop_reason: "length", error: "the agent reached its model's output limit" };
  }
  if (reason === "cancelled") return { stop_reason: "error", error: "the agent stopped its turn" };
  return { stop_reason: "budget", error: `the agent stopped: ${reason}` };
}
