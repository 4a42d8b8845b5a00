/** The open sessions of one editor. */
import type { Params } from "../features/verb_types.ts";
import {
  type AgentContext,
  type ClientCapabilities,
  methods,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type SessionModeState,
  type SessionUpdate,
  type ToolCallContent,
} from "@agentclientprotocol/sdk";
import { type Approval, APPROVALS } from "../protocol/approval.ts";
import { messageLines } from "../protocol/attachments.ts";
import type { EventParams, RpcClient } from "../client/rpc.ts";
import { askedOf, type PersonAnswer, type PersonQuestion } from "../protocol/person_question.ts";
import { messageOf } from "../protocol/errors.ts";
import { parkedNow } from "../protocol/note_text.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { visibleLine } from "../base/visible.ts";
import { shownDigest } from "../session/question.ts";
import { type Change, type Item, type ToolItem, type ToolOutcome, View } from "../session/view.ts";
import { itemsOfTranscript, type SoFar } from "../session/view_kept.ts";
import { DaemonLink } from "./link.ts";
import {
  type AskedApproval,
  chosenOf,
  decisionOf,
  formAnswer,
  personForm,
  personQuestion,
  question,
} from "./permission.ts";
import {
  type Call,
  callEnded,
  callGoesOn,
  callStarted,
  planned,
  promptOf,
  said,
  thought,
} from "./updates.ts";
import { PendingPrompt, type TurnEnd } from "./pending_prompt.ts";
import { RepeatedText } from "./repeated_text.ts";

export interface SessionsOptions {
  /** See {@linkcode DaemonLink}. */
  connect(again: boolean): Promise<RpcClient>;
  /** Settings that the editor does not choose. */
  start: Pick<Params<"session.start">, "model" | "approval">;
  /** Shows a notice in the editor's log. */
  notice(text: string): void;
}

/** Of an editor that does not read. */
const WAITING_MAX = 20_000;
/** The command of the prompt that continues a turn that was cut off. */
const CONTINUE = { name: "continue", description: "Continue the turn that was cut off" };
/** In characters: an escape may be split between pieces of text. */
const CONTEXT = 64;

interface Open {
  workdir: string;
  view: View;
  waiting: Set<PendingPrompt>;
  /** Calls that the editor knows. */
  calls: WeakMap<ToolItem, Call>;
  /** Open questions, cancelled when someone else decides. */
  asked: Map<string, AbortController>;
  /** Approvals up to this seq were already asked. */
  asked_seq: number;
  /** `client_message_id` of the editor's own messages. */
  own: Set<string>;
  /** The end of the agent's text. */
  said: string;
  again: RepeatedText;
}

interface Where {
  sessionId: string;
}

/** The modes of a session, and the one that holds. */
interface Moded {
  modes: SessionModeState;
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
  /** Whether the editor supports forms. */
  #forms = false;
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

  /** Takes the editor's capabilities. */
  introduced({ elicitation }: ClientCapabilities): void {
    this.#forms = Boolean(elicitation?.form);
  }

  async start({ cwd, mcpServers }: Settings): Promise<Where & Moded> {
    this.#mention(mcpServers);
    const { start } = this.#options;
    const { session_id } = await this.#link.call("session.start", { ...start, workdir: cwd });
    this.#open.set(session_id, newlyOpen(cwd));
    await this.#link.follow(session_id, 0);
    const { approval } = await this.#link.call("session.get", { session_id });
    return { sessionId: session_id, modes: modesOf(approval) };
  }

  /** Opens an existing session and shows its conversation. */
  async load({ sessionId, mcpServers }: Settings & Where): Promise<Moded> {
    this.#mention(mcpServers);
    return await this.#goOn(sessionId, await this.#resumed(sessionId), () => true);
  }

  /** Opens a session whose conversation the editor has. */
  async resume({ sessionId }: Where): Promise<Moded> {
    // A call may have begun after the editor closed.
    const runs = (item: Item) => item.kind === "tool" && item.outcome === undefined;
    return await this.#goOn(sessionId, await this.#resumed(sessionId), runs);
  }

  async list(cwd: string | null | undefined) {
    const { sessions } = await this.#link.call("session.list", cwd ? { workdir: cwd } : {});
    return {
      sessions: sessions.filter((it) => !it.temporary).map((
        { id, workdir, title, last_event_at },
      ) => ({
        sessionId: id,
        cwd: workdir,
        title: visibleLine(title),
        updatedAt: last_event_at,
      })),
    };
  }

  /** Changes what the session does without asking. */
  async setMode(session_id: string, mode: string): Promise<Record<string, never>> {
    const approval = APPROVALS.find((it) => it === mode);
    if (approval === undefined) {
      throw new RequestError(-32602, `no mode is named ${mode}; there are ${APPROVALS.join(", ")}`);
    }
    await this.#link.call("session.configure", { session_id, approval });
    return {};
  }

  /** Sends a message, or continues the last turn, and waits for the turn's end. */
  async prompt({ sessionId, prompt }: PromptRequest): Promise<PromptResponse> {
    const open = this.#session(sessionId);
    const client_message_id = crypto.randomUUID();
    const { text, attachments } = promptOf(prompt);
    const waiting = new PendingPrompt();
    open.waiting.add(waiting);
    try {
      if (text.trim() === `/${CONTINUE.name}`) {
        const { last_seq } = await this.#link.call("session.get", { session_id: sessionId });
        await this.#link.call("session.continue", { session_id: sessionId });
        waiting.sent(last_seq + 1);
        return await waiting.done;
      }
      open.own.add(client_message_id);
      const params = {
        session_id: sessionId,
        text,
        client_message_id,
        ...(attachments.length > 0 && { attachments }),
      };
      const { seq } = await this.#link.deliver("session.send", params);
      waiting.sent(seq);
      return await waiting.done;
    } finally {
      open.waiting.delete(waiting);
    }
  }

  async cancel(session_id: string): Promise<void> {
    const asked = [...this.#open.get(session_id)?.asked.values() ?? []];
    // Also takes back what the editor sent meanwhile.
    await this.#link.call("session.withdraw", { session_id }).catch(() => {});
    await this.#link.call("session.cancel", { session_id }).catch(() => {});
    for (const controller of asked) controller.abort();
  }

  /** Closes a session in the editor, but not in the daemon. */
  async leave(session_id: string): Promise<Record<string, never>> {
    if (this.#open.has(session_id)) await this.cancel(session_id);
    this.#drop(session_id);
    return {};
  }

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

  /** Resumes a session and reads its conversation. */
  async #resumed(session_id: string): Promise<Conversation> {
    const { state, workdir } = await this.#link.call("session.get", { session_id });
    if (state === "paused") await this.#link.call("session.resume", { session_id });
    const transcript = await this.#link.call("session.transcript", { session_id });
    return { ...transcript, workdir };
  }

  /**
   * Follows a session after its conversation, and asks pending questions.
   * @param tells whether to show an item of the conversation
   */
  async #goOn(
    session_id: string,
    conversation: Conversation,
    tells: (item: Item) => boolean,
  ): Promise<Moded> {
    const { workdir, writing, seq } = conversation;
    const { pending_approvals, plan = [], last_seq, cut_off, ...now } = await this.#link.call(
      "session.get",
      { session_id },
    );
    const parked = parkedNow(now);
    if (parked !== undefined) this.#options.notice(visibleLine(parked));
    const open = newlyOpen(workdir, this.#open.get(session_id));
    open.asked_seq = last_seq;
    this.#open.set(session_id, open);
    const so_far = open.view.load(itemsOfTranscript(conversation), writing !== "");
    for (const change of so_far) {
      if (change.type === "added" && tells(change.item)) this.#show(session_id, open, change, 0);
    }
    if (plan.length > 0) this.#tell(session_id, planned(plan));
    if (cut_off) this.#offerContinue(session_id);
    for (const approval of pending_approvals) {
      const call = so_far.find((it): it is Extract<Change, { type: "added" }> =>
        it.type === "added" && it.item.kind === "tool" && it.item.call_id === approval.call_id
      );
      const item = call?.item.kind === "tool" ? call.item : undefined;
      this.#ask(session_id, open, approval, item && open.calls.get(item));
    }
    await this.#link.follow(session_id, seq);
    return { modes: modesOf(now.approval) };
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

  // fold-ok: the mode is a fact of the session for editors, and no part of what they show
  #take(event: EventParams): void {
    const { session_id, seq, type } = event;
    const open = this.#open.get(session_id);
    if (open === undefined) return;
    if (type === "session.moved") open.workdir = String(event.data.workdir);
    const { approval } = event.data;
    if (type === "session.configured" && typeof approval === "string") {
      this.#tell(session_id, { sessionUpdate: "current_mode_update", currentModeId: approval });
    }
    for (const change of open.view.apply(event as unknown as SessionEvent)) {
      this.#show(session_id, open, change, seq);
    }
    if (type === "session.ended") {
      endTurn(open, { seq, stop_reason: "cancelled" });
      this.#drop(session_id);
    }
  }

  #show(session_id: string, open: Open, change: Change, seq: number): void {
    switch (change.type) {
      case "added":
        return this.#showItem(session_id, open, change.item);
      case "grew":
        return this.#showText(session_id, open, change.item.kind, change.text);
      case "changed":
        return this.#showChange(session_id, open, change.item);
      case "removed": {
        const { item } = change;
        if (item.kind === "text") open.again.expect(item.text);
        if (item.kind !== "user") return;
        for (const waiting of open.waiting) waiting.withdrawn(item.seq);
        return;
      }
      case "plan":
        return this.#tell(session_id, planned(change.steps));
      case "asked":
        if (seq <= open.asked_seq) return;
        this.#ask(session_id, open, change.request, callOf(open, change.item));
        return;
      case "settled":
        open.asked.get(change.asked.approval_id)?.abort();
        return;
      case "turn_ended":
        if (change.end.stop_reason === "interrupted") this.#offerContinue(session_id);
        return endTurn(open, { ...change.end, seq });
    }
  }

  #offerContinue(session_id: string): void {
    const availableCommands = [CONTINUE];
    this.#tell(session_id, { sessionUpdate: "available_commands_update", availableCommands });
  }

  #showItem(session_id: string, open: Open, item: Item): void {
    switch (item.kind) {
      case "user":
        // It is told when its turn begins.
        if (item.queued) return;
        if (open.own.delete(item.client_message_id ?? "")) return;
        return this.#tell(session_id, said("user", messageLines(item.text, item.attachments)));
      case "text":
        open.again.begin();
        return this.#showText(session_id, open, item.kind, item.text);
      case "thought":
        return this.#showText(session_id, open, item.kind, item.text);
      case "tool": {
        const { call_id, tool, args } = item;
        const call = { call_id, tool, args, workdir: open.workdir };
        open.calls.set(item, call);
        this.#tell(session_id, callStarted(call));
        if (item.outcome !== undefined) this.#showOutcome(session_id, call, item.outcome);
        return;
      }
      case "note":
        // It replaces a part of the conversation.
        if (item.topic === "summary") this.#tell(session_id, said("user", item.text));
        else this.#options.notice(visibleLine(item.text));
    }
  }

  #showText(session_id: string, open: Open, kind: "text" | "thought", text: string): void {
    if (kind === "thought") return this.#tell(session_id, thought(text));
    const fresh = open.again.take(text);
    if (fresh === "") return;
    this.#tell(session_id, said("agent", fresh, open.said));
    open.said = (open.said + fresh).slice(-CONTEXT);
  }

  #showChange(session_id: string, open: Open, item: Item): void {
    if (item.kind === "note" && item.end === undefined && item.parked_until === undefined) {
      this.#options.notice(visibleLine(item.text));
    }
    const call = callOf(open, item);
    if (item.kind !== "tool" || call === undefined) return;
    if (item.outcome !== undefined) this.#showOutcome(session_id, call, item.outcome);
    else if (call.ended) this.#tell(session_id, callGoesOn(call));
    call.ended = item.outcome !== undefined;
  }

  #showOutcome(session_id: string, call: Call, outcome: ToolOutcome): void {
    this.#tell(session_id, callEnded(call, outcome));
    if (outcome.attachments !== undefined) this.#showImages(session_id, call, outcome);
  }

  /** Adds the images of an ended call once they are read. */
  async #showImages(session_id: string, call: Call, result: ToolOutcome): Promise<void> {
    const images: ToolCallContent[] = [];
    for (const { hash, media_type: mimeType } of result.attachments ?? []) {
      if (!mimeType.startsWith("image/")) continue;
      const read = this.#link.call("session.attachment", { session_id, hash });
      // The output still has a line about it.
      const found = await read.catch(() => undefined);
      if (found === undefined) continue;
      images.push({ type: "content", content: { type: "image", mimeType, data: found.data } });
    }
    if (images.length > 0) this.#tell(session_id, callEnded(call, result, images));
  }

  async #ask(
    session_id: string,
    open: Open,
    asked: AskedApproval,
    call: Call | undefined,
  ): Promise<void> {
    const { approval_id } = asked;
    const controller = new AbortController();
    open.asked.set(approval_id, controller);
    try {
      const about = askedOf(asked);
      const { verb, ...params } = about === undefined
        ? await this.#decision(session_id, asked, call, controller.signal)
        : await this.#answer(session_id, asked.call_id, about, controller.signal);
      const shown = await shownDigest(asked);
      await this.#link.deliver(verb, { session_id, approval_id, ...params, shown });
    } catch (error) {
      // If aborted, someone else decided, or the turn was cancelled.
      if (!controller.signal.aborted) this.#options.notice(messageOf(error));
    } finally {
      open.asked.delete(approval_id);
    }
  }

  async #decision(
    session_id: string,
    asked: AskedApproval,
    call: Call | undefined,
    cancellationSignal: AbortSignal,
  ) {
    const answer = await this.#client.request(
      methods.client.session.requestPermission,
      question(session_id, asked, call),
      { cancellationSignal, stopWaitingOnCancel: true },
    );
    return { verb: "session.approve" as const, decision: decisionOf(answer) };
  }

  async #answer(
    session_id: string,
    call_id: string,
    asked: PersonQuestion,
    cancellationSignal: AbortSignal,
  ) {
    const waiting = { cancellationSignal, stopWaitingOnCancel: true };
    const answered = (answer: PersonAnswer | undefined) => ({
      verb: "session.answer" as const,
      ...answer ?? { unanswered: "declined" },
    });
    if (this.#forms) {
      const form = personForm(session_id, call_id, asked);
      const filled = await this.#client.request(methods.client.elicitation.create, form, waiting);
      return answered(formAnswer(filled));
    }
    const chosen: string[] = [];
    while (true) {
      const put = personQuestion(session_id, call_id, asked, chosen);
      const response = await this.#client.request(
        methods.client.session.requestPermission,
        put,
        waiting,
      );
      const choice = chosenOf(response, asked);
      if (choice === "skip") return answered(undefined);
      if (choice !== "done") chosen.push(choice.label);
      const left = asked.multiple && chosen.length < asked.options.length;
      if (choice === "done" || !left) return answered({ chosen });
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

/** A conversation up to `seq`. */
interface Conversation extends SoFar {
  workdir: string;
  seq: number;
}

function callOf({ calls }: Open, item: Item): Call | undefined {
  return item.kind === "tool" ? calls.get(item) : undefined;
}

/** A new state; prompts that already wait are kept. */
/** What editors show for each mode. */
const MODES: Record<Approval, { name: string; description: string }> = {
  ask: { name: "Ask", description: "Asks before writing files or running commands" },
  workspace: {
    name: "Workspace",
    description: "Works in the directory, asks for anything else",
  },
  auto: { name: "Auto", description: "Allows everything" },
  read_only: { name: "Read only", description: "Refuses everything but reading" },
};

function modesOf(currentModeId: Approval): SessionModeState {
  const availableModes = Object.entries(MODES).map(([id, words]) => ({ id, ...words }));
  return { currentModeId, availableModes };
}

function newlyOpen(workdir: string, before?: Open): Open {
  for (const controller of before?.asked.values() ?? []) controller.abort();
  return {
    workdir,
    view: new View(),
    waiting: before?.waiting ?? new Set(),
    calls: new WeakMap(),
    asked: new Map(),
    asked_seq: 0,
    own: before?.own ?? new Set(),
    said: "",
    again: new RepeatedText(),
  };
}

function endTurn({ waiting }: Open, end: TurnEnd): void {
  for (const each of waiting) each.ended(end);
}
