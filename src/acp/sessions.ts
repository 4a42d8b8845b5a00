/** The sessions that one editor has open. */
import {
  type AgentContext,
  methods,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { Message } from "../models/model.ts";
import type { EventParams, RpcClient } from "../client/rpc.ts";
import { messageOf } from "../protocol/errors.ts";
import { aboutAnswer } from "../protocol/events.ts";
import { rulesLine } from "../base/rules_line.ts";
import { visibleLine } from "../base/visible.ts";
import { shownDigest } from "../session/question.ts";
import { DaemonLink } from "./link.ts";
import { type AskedApproval, decisionOf, question } from "./permission.ts";
import {
  type Call,
  callEnded,
  callStarted,
  planned,
  promptText,
  replay,
  runningCalls,
  said,
} from "./updates.ts";
import { type TurnEnd, Waiting } from "./waiting.ts";

export interface SessionsOptions {
  /** As of {@linkcode DaemonLink}. */
  connect(again: boolean): Promise<RpcClient>;
  /** Parameters of `session.start` that the editor does not choose. */
  start: { model?: string; approval?: string };
  /** Says what the person should know, where editors show an agent's log. */
  notice(text: string): void;
}

/** Updates that may wait for an editor that does not read. */
const WAITING_MAX = 20_000;
/** Characters of what was said that a piece of text may belong to. */
const CONTEXT = 64;

/** A session that the editor has open. */
interface Open {
  workdir: string;
  waiting: Set<Waiting>;
  calls: Map<string, Call>;
  /** What the editor was asked, to be taken back when someone else decides. */
  asked: Map<string, AbortController>;
  /** Approvals requested up to this seq were asked when it was opened, as far as they waited. */
  asked_seq: number;
  /** `client_message_id` of what the editor itself has sent. */
  own: Set<string>;
  /** The end of what the agent has said. */
  said: string;
}

interface Where {
  sessionId: string;
}

interface Settings {
  cwd: string;
  mcpServers?: readonly unknown[];
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #client: AgentContext;
  readonly #closeConnection: (error: unknown) => void;
  readonly #link: DaemonLink;
  readonly #open = new Map<string, Open>();
  #unsent = 0;

  constructor(
    options: SessionsOptions,
    client: AgentContext,
    closeConnection: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#client = client;
    this.#closeConnection = closeConnection;
    this.#link = new DaemonLink({
      connect: options.connect,
      onEvent: (event) => this.#take(event),
      awaited: () => [...this.#open.values()].some(({ waiting }) => waiting.size > 0),
      onLost: (error) => this.#lost(error),
    });
  }

  async start({ cwd, mcpServers }: Settings): Promise<Where> {
    this.#mention(mcpServers);
    const { start } = this.#options;
    const { session_id } = await this.#link.call("session.start", { ...start, workdir: cwd });
    this.#open.set(session_id, newlyOpen(cwd));
    await this.#link.follow(session_id, 0);
    return { sessionId: session_id };
  }

  /** Opens a session that is there already, and tells what was said in it. */
  async load({ sessionId, mcpServers }: Settings & Where): Promise<Record<string, never>> {
    this.#mention(mcpServers);
    const conversation = await this.#resumed(sessionId);
    const { workdir, messages, writing } = conversation;
    for (const update of replay(messages, workdir)) this.#tell(sessionId, update);
    if (writing !== "") this.#tell(sessionId, said("agent", writing));
    await this.#goOn(sessionId, conversation);
    return {};
  }

  /** Opens a session whose conversation the editor has. */
  async resume({ sessionId }: Where): Promise<Record<string, never>> {
    const conversation = await this.#resumed(sessionId);
    // It may have begun after the editor had left.
    for (const call of conversation.running) this.#tell(sessionId, callStarted(call));
    await this.#goOn(sessionId, conversation);
    return {};
  }

  async list(cwd: string | null | undefined) {
    const { sessions } = await this.#link.call("session.list", {});
    return {
      sessions: sessions
        .filter(({ workdir }: { workdir: string }) => !cwd || workdir === cwd)
        .map(({ id, workdir, title, last_event_at }: Record<string, string>) => ({
          sessionId: id,
          cwd: workdir,
          title: visibleLine(title),
          updatedAt: last_event_at,
        })),
    };
  }

  /** Sends a message and waits for the end of its turn. */
  async prompt({ sessionId, prompt }: PromptRequest): Promise<PromptResponse> {
    const open = this.#session(sessionId);
    const client_message_id = crypto.randomUUID();
    const text = promptText(prompt);
    const waiting = new Waiting();
    open.waiting.add(waiting);
    open.own.add(client_message_id);
    try {
      const params = { session_id: sessionId, text, client_message_id };
      const { seq } = await this.#link.call("session.send", params);
      waiting.sent(seq);
      return await waiting.done;
    } finally {
      open.waiting.delete(waiting);
    }
  }

  async cancel(session_id: string): Promise<void> {
    const asked = [...this.#open.get(session_id)?.asked.values() ?? []];
    await this.#link.call("session.cancel", { session_id }).catch(() => {});
    for (const controller of asked) controller.abort();
  }

  /** Closes a session for the editor; in the daemon it stays. */
  async leave(session_id: string): Promise<Record<string, never>> {
    if (this.#open.has(session_id)) await this.cancel(session_id);
    this.#drop(session_id);
    return {};
  }

  /** Ends a session for good. */
  async end(session_id: string): Promise<Record<string, never>> {
    await this.#link.call("session.kill", { session_id });
    this.#drop(session_id);
    return {};
  }

  close(): void {
    this.#link.close();
    for (const { asked } of this.#open.values()) {
      for (const controller of asked.values()) controller.abort();
    }
  }

  #lost(error: unknown): void {
    for (const { waiting } of this.#open.values()) {
      for (const each of waiting) {
        each.failed(`lost the connection to the daemon: ${messageOf(error)}`);
      }
    }
  }

  #drop(session_id: string): void {
    this.#link.forget(session_id);
    this.#open.delete(session_id);
  }

  /** Has a session run, and reads what was said in it. */
  async #resumed(session_id: string): Promise<Conversation> {
    const { state, workdir } = await this.#link.call("session.get", { session_id });
    if (state === "paused") await this.#link.call("session.resume", { session_id });
    const transcript = await this.#link.call("session.transcript", { session_id });
    return { ...transcript, workdir, running: runningCalls(transcript.messages, workdir) };
  }

  /** Follows a session from where its conversation was read, and asks what waits for an answer. */
  async #goOn(session_id: string, { workdir, running, seq }: Conversation): Promise<void> {
    const { pending_approvals, plan = [], last_seq } = await this.#link.call("session.get", {
      session_id,
    });
    if (plan.length > 0) this.#tell(session_id, planned(plan));
    const open = newlyOpen(workdir, this.#open.get(session_id));
    open.asked_seq = last_seq;
    for (const call of running) open.calls.set(call.call_id, call);
    this.#open.set(session_id, open);
    for (const approval of pending_approvals) this.#ask(session_id, open, approval);
    await this.#link.follow(session_id, seq);
  }

  #session(session_id: string): Open {
    const open = this.#open.get(session_id);
    if (open === undefined) throw RequestError.sessionNotFound(session_id);
    return open;
  }

  #mention(servers: readonly unknown[] = []): void {
    if (servers.length === 0) return;
    this.#options.notice(
      "tool servers of the editor are ignored; svc uses those in ~/.svc/policy.yaml",
    );
  }

  #take({ session_id, type, seq, data }: EventParams): void {
    const open = this.#open.get(session_id);
    if (open === undefined) return;
    if (type === "session.delta") {
      this.#tell(session_id, said("agent", data.text, open.said));
      open.said = (open.said + data.text).slice(-CONTEXT);
    } else if (type === "user.message") {
      if (open.own.delete(data.client_message_id)) return;
      this.#tell(session_id, said("user", data.text));
    } else if (type === "session.tool_started") {
      const { call_id, tool, args } = data;
      const call = { call_id, tool, args, workdir: open.workdir };
      open.calls.set(call_id, call);
      this.#tell(session_id, callStarted(call));
    } else if (type === "session.tool_completed") {
      const call = open.calls.get(data.call_id);
      open.calls.delete(data.call_id);
      if (call !== undefined) this.#tell(session_id, callEnded(call, data.ok, data.output));
    } else if (type === "plan.changed") {
      this.#tell(session_id, planned(data.steps));
    } else if (type === "rules.loaded") {
      this.#options.notice(visibleLine(rulesLine(data)));
    } else if (type === "lane.note" && aboutAnswer(data.reason_code)) {
      this.#options.notice(visibleLine(data.text));
    } else if (type === "approval.requested") {
      if (seq > open.asked_seq) this.#ask(session_id, open, data);
    } else if (type === "approval.resolved") open.asked.get(data.approval_id)?.abort();
    else if (type === "turn.completed") endTurn(open, { ...data, seq });
    else if (type === "session.ended") {
      endTurn(open, { seq, stop_reason: "cancelled" });
      this.#drop(session_id);
    }
  }

  async #ask(session_id: string, open: Open, asked: AskedApproval): Promise<void> {
    const { approval_id } = asked;
    const controller = new AbortController();
    open.asked.set(approval_id, controller);
    try {
      const answer = await this.#client.request(
        methods.client.session.requestPermission,
        question(session_id, asked, open.calls.get(asked.call_id)),
        { cancellationSignal: controller.signal, stopWaitingOnCancel: true },
      );
      const decision = decisionOf(answer);
      const shown = await shownDigest(asked);
      await this.#link.call("session.approve", { session_id, approval_id, decision, shown });
    } catch (error) {
      // Someone else has decided, or the turn is cancelled: there is nothing left to ask.
      if (!controller.signal.aborted) this.#options.notice(String(error));
    } finally {
      open.asked.delete(approval_id);
    }
  }

  #tell(sessionId: string, update: SessionUpdate): void {
    if (++this.#unsent > WAITING_MAX) {
      return this.#closeConnection(new Error("the editor does not read its input"));
    }
    this.#client.notify(methods.client.session.update, { sessionId, update })
      .catch(() => {})
      .finally(() => this.#unsent--);
  }
}

/** What was said in a session up to `seq`, and the calls that had not ended then. */
interface Conversation {
  workdir: string;
  messages: Message[];
  writing: string;
  running: Call[];
  seq: number;
}

/** A session as it is opened; what the editor waits for since it opened it before goes on. */
function newlyOpen(workdir: string, before?: Open): Open {
  for (const controller of before?.asked.values() ?? []) controller.abort();
  return {
    workdir,
    waiting: before?.waiting ?? new Set(),
    calls: new Map(),
    asked: new Map(),
    asked_seq: 0,
    own: before?.own ?? new Set(),
    said: "",
  };
}

function endTurn({ waiting }: Open, end: TurnEnd): void {
  for (const each of waiting) each.ended(end);
}
