/** `svc chat -p`: one prompt, one answer, an exit code. */
import { deadline } from "@std/async";
import { ConnectionLost, type EventParams, type RpcClient } from "../client/rpc.ts";
import type { Params } from "../features/verb_types.ts";
import { reachesFar, REMEMBER, type Scope } from "../protocol/memory.ts";
import { APPROVAL_TOOL } from "../features/tool_servers/names.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { accessWords } from "../protocol/command_access.ts";
import type { TurnLimits } from "../protocol/event_data.ts";
import { type EventData, FILES_UNREADABLE, LATER_FILES, MAIN_LANE } from "../protocol/events.ts";
import { askedOf, type PersonQuestion } from "../protocol/person_question.ts";
import { parkedNow } from "../protocol/note_text.ts";
import { TRUST_DIRECTORY } from "../protocol/trust.ts";
import { laterByName } from "../jail/runs_later.ts";
import { callLine } from "../base/call_line.ts";
import { exactLine, visible } from "../base/visible.ts";
import { exitCodeOf } from "./chat_exits.ts";
import { terminalSettings } from "../features/chat_commands/terminal_settings.ts";
import type { CallVerb } from "../features/verb_types.ts";
import { type Face, faceOf, type Form, Output } from "./chat_faces.ts";
import type { Line, ResultLine } from "./chat_lines.ts";
import { messageFor } from "./chat_message.ts";
import { PARKED, Progress, RULES_LEFT_OUT } from "./chat_progress.ts";
import type { AttachedFile } from "./chat_attach.ts";
import type { AnswerCheck, Checked } from "./chat_schema.ts";
import { named } from "./own_name.ts";

export interface OnceOptions {
  prompt: string;
  attachments: AttachedFile[];
  form: Form;
  limits: TurnLimits;
  schema?: AnswerCheck;
  /** Whether the session is deleted at the end. */
  temporary: boolean;
  /** Whether the person is told how to go on with the session. */
  keep: boolean;
  /** Connects, and finds or starts the session. */
  open(): Promise<Opened>;
  /**
   * Connects to the next daemon.
   *
   * @param stopped whether the last one was told to stop; after a crash, the next one is started.
   * @throws {SvcError} not_found.
   */
  reconnect(stopped: boolean): Promise<RpcClient>;
}

export interface Opened {
  rpc: RpcClient;
  session_id: string;
}

interface End {
  stop_reason: string;
  error?: string;
}

type Asked = Pick<
  EventData["approval.requested"],
  "approval_id" | "lane_id" | "call_id" | "tool" | "args" | "kind"
>;

/** How long it waits until its session is deleted; after that the daemon does it alone. */
const DELETED_MS = 15_000;
/** How long it waits for a parked turn. */
const PARKED_MAX_MS = 15 * 60_000;
/** How often the model is asked again for an answer that fits the schema. */
const REPAIRS_MAX = 2;
/** How many crashes of the daemon a run outlives: the turn may be what crashes it. */
const CRASHES_MAX = 3;

/** Asks, prints what happens, and waits for the end. @returns the exit code. */
export async function askOnce(options: OnceOptions): Promise<number> {
  return await new Run(options).toItsEnd();
}

class Run {
  readonly #options: OnceOptions;
  readonly #output = new Output();
  readonly #face: Face;
  readonly #progress: Progress;
  readonly #started = performance.now();
  #opened: Opened | undefined;
  #model: string | undefined;
  #checked: Checked | undefined;
  /** The `stop_reason`, if the turn was cancelled from here. */
  #stopped: string | undefined;
  /** The lanes whose questions block the turn: the main lane and its subagents. */
  readonly #asking = new Set([MAIN_LANE]);
  /** Whether the daemon is stopping; the next one continues the turn. */
  #daemon_stops = false;
  #crashes = 0;
  /** The calls whose questions were answered, which a restart may repeat. */
  readonly #answered = new Set<string>();
  #seq: number | undefined;
  #sent_seq = Infinity;
  #message_id: string | undefined;
  /** Seqs of the messages that a person has taken back. */
  readonly #withdrawn = new Set<number>();
  #completed: EventParams | undefined;
  /** The turn waits for the end of a provider's limit. */
  #parked: Pick<EventData["turn.parked"], "until" | "reason"> | undefined;
  #finished = Promise.withResolvers<End>();

  constructor(options: OnceOptions) {
    this.#options = options;
    const holds = options.form === "text" && !Deno.stdout.isTerminal();
    this.#progress = new Progress({ holds });
    this.#face = faceOf(options.form, this.#output, options.schema !== undefined);
  }

  async toItsEnd(): Promise<number> {
    const signals = onSignals((reason) => this.#onSignal(reason));
    this.#output.closed.then(() => this.#stop("output_closed"));
    let end: End;
    let failure: { error: unknown } | undefined;
    try {
      end = await this.#converse();
    } catch (error) {
      failure = { error };
      end = { stop_reason: "error", error: messageOf(error) };
    } finally {
      signals.dispose();
      await this.#leave();
    }
    const rest = this.#progress.rest();
    if (rest !== undefined) this.#line(rest);
    const result = this.#result(end);
    this.#line(result);
    if (!await this.#output.flush()) return exitCodeOf("output_closed");
    if (failure !== undefined) throw failure.error;
    this.#complain(end);
    if (this.#options.keep) this.#tellKept();
    return result.exit_code;
  }

  /** Deletes a temporary session. If it cannot, the daemon does so when it misses this client. */
  async #leave(): Promise<void> {
    if (this.#opened === undefined) return;
    const { rpc, session_id } = this.#opened;
    rpc.onEvent = () => {};
    try {
      if (!this.#options.temporary || rpc.lost) return;
      await deadline(rpc.call("session.delete", { session_id }), DELETED_MS);
    } catch (error) {
      if (!(error instanceof SvcError) || error instanceof ConnectionLost) return;
      if (error.code === "not_found" || error.code === "shutting_down") return;
      console.error(`svc: ${visible(named(error.message))}`);
    } finally {
      rpc.close();
    }
  }

  #tellKept(): void {
    const { session_id } = this.#opened!;
    console.error(
      named(`svc: kept; \`svc chat --session ${session_id}\` goes on with the session`),
    );
  }

  async #converse(): Promise<End> {
    const { schema } = this.#options;
    await this.#open();
    const text = await this.#call(({ rpc, session_id }) =>
      messageFor(rpc, session_id, this.#options.prompt)
    );
    const { attachments } = this.#options;
    const message = schema === undefined ? text : `${text}\n\n${schema.instruction}`;
    let end = await this.#ask(message, attachments.length > 0 ? { attachments } : {});
    if (schema === undefined) return end;
    const { repairPrompt } = await import("./chat_schema.ts");
    for (let repairs = 0; end.stop_reason === "ok"; repairs++) {
      this.#checked = schema.check(this.#progress.answer);
      const { problems } = this.#checked;
      if (problems.length === 0) return end;
      if (repairs === REPAIRS_MAX) {
        return { stop_reason: "schema", error: "the answer does not fit the schema" };
      }
      this.#line({ type: "asked_again", problems });
      end = await this.#ask(repairPrompt(problems));
    }
    return end;
  }

  /** Opens the session. Until it is announced, another one does as well after a crash. */
  async #open(): Promise<void> {
    for (;;) {
      try {
        this.#opened = await this.#options.open();
        return await this.#begin(this.#opened);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (this.#model !== undefined) {
          if (await this.#reopen()) return;
          throw error;
        }
        if (++this.#crashes > CRASHES_MAX) throw error;
      }
    }
  }

  /** Makes a call that may be made twice: again with the next daemon if this one ends meanwhile. */
  async #call<T>(call: (opened: Opened) => Promise<T>): Promise<T> {
    for (;;) {
      const opened = this.#opened!;
      try {
        return await call(opened);
      } catch (error) {
        if (!opened.rpc.lost || !await this.#reopen()) throw error;
      }
    }
  }

  async #begin({ rpc, session_id }: Opened): Promise<void> {
    const session = await rpc.call("session.get", { session_id });
    const { parked_until: until, parked_reason: reason = "" } = session;
    const parked = parkedNow(session);
    if (parked !== undefined) console.error(`svc: ${visible(named(parked))}`);
    if (until !== undefined) this.#parked = { until, reason };
    if (Object.keys(this.#options.limits).length > 0) requireLimitable(session);
    if (session.state === "paused") await rpc.call("session.resume", { session_id });
    this.#model = session.model as string;
    this.#line({ type: "init", session_id, model: this.#model, cwd: session.workdir });
    if (this.#face.useTheme !== undefined) {
      this.#face.useTheme((await terminalSettings(rpc.call.bind(rpc) as CallVerb)).theme);
    }
    rpc.onEvent = (event) => this.#onEvent(event);
    await rpc.call("session.subscribe", { session_id, deltas: "session" });
  }

  async #ask(text: string, more: { attachments?: AttachedFile[] } = {}): Promise<End> {
    const limits = this.#limitsLeft();
    if ("stop_reason" in limits) return limits;
    if (this.#stopped !== undefined) return { stop_reason: this.#stopped };
    this.#sent_seq = Infinity;
    this.#completed = undefined;
    this.#finished = Promise.withResolvers();
    try {
      const sent = await this.#send({ text, ...limits, ...more });
      ({ seq: this.#sent_seq, message_id: this.#message_id } = sent);
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== "budget_exceeded") throw error;
      return { stop_reason: "budget", error: error.message };
    }
    if (this.#withdrawn.has(this.#sent_seq)) this.#onWithdrawn();
    if (this.#completed !== undefined) this.#onCompleted(this.#completed);
    this.#onParked();
    // A signal came while the message was sent.
    if (this.#stopped !== undefined) this.#cancel();
    const { stop_reason, error } = await this.#turnEnd();
    return this.#stopped === undefined ? { stop_reason, error } : { stop_reason: this.#stopped };
  }

  /** Sends a message once, even across a restart of the daemon. */
  async #send(message: Omit<Params<"session.send">, "session_id">) {
    const client_message_id = crypto.randomUUID();
    return await this.#call(({ rpc, session_id }) =>
      rpc.call("session.send", { session_id, client_message_id, ...message })
    );
  }

  /** Waits for the end of the turn, even across a restart of the daemon. */
  async #turnEnd(): Promise<End> {
    for (;;) {
      const { rpc } = this.#opened!;
      const lost = rpc.closed.then(() => undefined);
      const end = await Promise.race([this.#finished.promise, lost]);
      if (end === undefined) {
        if (await this.#reopen()) continue;
        const error = this.#options.temporary
          ? "the daemon has stopped"
          : "the daemon has stopped; the turn goes on when it runs again";
        return { stop_reason: "interrupted", error };
      }
      if (end.stop_reason !== "interrupted" || !await this.#goOn()) return end;
    }
  }

  /** Goes on with the next daemon. @returns false when there is none */
  async #reopen(): Promise<boolean> {
    const { session_id } = this.#opened!;
    for (;;) {
      const stopped = this.#daemon_stops;
      if (!stopped && ++this.#crashes > CRASHES_MAX) {
        throw new SvcError("internal", `the daemon crashed ${CRASHES_MAX + 1} times`, {
          hint: this.#options.temporary
            ? "with --keep you could return to the session"
            : `\`svc chat --session ${session_id}\` returns to the session`,
        });
      }
      const rpc = await this.#options.reconnect(stopped).catch(() => undefined);
      if (rpc === undefined) return false;
      this.#opened = { rpc, session_id };
      try {
        await this.#follow(rpc, session_id);
        return true;
      } catch (error) {
        if (!rpc.lost) throw error;
      }
    }
  }

  /** Has the turn go on that a crash has interrupted, unless the person wants to be asked. */
  async #goOn(): Promise<boolean> {
    if (this.#crashes === 0 || this.#stopped !== undefined) return false;
    let asked = false;
    return await this.#call(async ({ rpc, session_id }) => {
      const { cut_off, state, activity } = await rpc.call("session.get", { session_id });
      // The daemon that was asked has ended, and the next one has it go on.
      if (asked && activity === "working") return true;
      if (!cut_off || state !== "running") return false;
      const { settings } = await rpc.call("daemon.get_config");
      if (settings["agent.continue"]?.value === "ask") return false;
      if (!asked) {
        this.#sent_seq = this.#completed!.seq;
        this.#completed = undefined;
        this.#finished = Promise.withResolvers();
        asked = true;
      }
      await rpc.call("session.continue", { session_id });
      return true;
    });
  }

  async #follow(rpc: RpcClient, session_id: string): Promise<void> {
    this.#daemon_stops = false;
    rpc.onEvent = (event) => this.#onEvent(event);
    await rpc.call("session.subscribe", { session_id, since_seq: this.#seq, deltas: "session" });
    if (this.#stopped !== undefined) return this.#cancel();
    // An answer may have been lost with the connection.
    const { pending_approvals } = await rpc.call("session.get", { session_id });
    for (const asked of pending_approvals) this.#onAsked(asked);
  }

  /** Returns the limits of the next turn, or the end if nothing is left. */
  #limitsLeft(): TurnLimits | End {
    const { max_steps, max_usd } = this.#options.limits;
    const left: TurnLimits = {};
    if (max_steps !== undefined) left.max_steps = max_steps - this.#progress.steps;
    if (max_usd !== undefined) left.max_usd = max_usd - this.#progress.usage.usd;
    const { max_steps: steps_left = 1, max_usd: usd_left = 1 } = left;
    if (steps_left > 0 && usd_left > 0) return left;
    const limit = steps_left > 0 ? `$${max_usd}` : `${max_steps} steps`;
    return { stop_reason: "budget", error: `the limit of ${limit} is reached` };
  }

  // fold-ok: when the program ends, and with which code
  #onEvent(event: EventParams): void {
    this.#seq = event.seq;
    if (event.type === "session.paused") {
      this.#daemon_stops = event.data.reason === "daemon_shutdown";
    }
    this.#face.event?.(event);
    const line = this.#progress.take(event);
    if (line !== undefined) this.#line(line);
    if (line?.type === "note" && FOR_PEOPLE.has(line.reason_code) && !this.#face.notes) {
      console.error(`svc: ${visible(named(line.text))}`);
    }
    if (event.type === "subagent.started") this.#asking.add(event.data.lane_id);
    if (event.type === "approval.requested") this.#onAsked(event.data);
    else if (event.type === "user.withdrawn") {
      const { messages, queued } = event.data as EventData["user.withdrawn"];
      if (queued !== undefined) {
        // It gets a turn of its own, after those before.
        if (queued.message_id === this.#message_id) this.#sent_seq = Infinity;
        return;
      }
      for (const { seq } of messages) this.#withdrawn.add(seq);
      if (this.#withdrawn.has(this.#sent_seq)) this.#onWithdrawn();
    } else if (event.type === "user.message") {
      if (event.data.message_id === this.#message_id) this.#sent_seq = event.seq;
    } else if (event.type === "turn.parked") {
      this.#parked = event.data as EventData["turn.parked"];
      this.#onParked();
    } else if (event.type === "turn.continued") {
      this.#parked = undefined;
    } else if (event.type === "turn.completed") {
      this.#parked = undefined;
      this.#completed = event;
      this.#onCompleted(event);
    }
  }

  /** A script does not wait for hours. The turn stays parked. */
  #onParked(): void {
    if (this.#parked === undefined || this.#sent_seq === Infinity) return;
    const { until, reason } = this.#parked;
    if (Date.parse(until) - Date.now() <= PARKED_MAX_MS) return;
    this.#finished.resolve({ stop_reason: "parked", error: `until ${until}: ${reason}` });
  }

  #onCompleted(event: EventParams): void {
    if (event.seq > this.#sent_seq) this.#finished.resolve(event.data as End);
  }

  /** The running turn belongs to another message. */
  #onWithdrawn(): void {
    this.#finished.resolve({ stop_reason: "cancelled", error: "the message was taken back" });
  }

  #onAsked(data: Asked): void {
    if (!this.#asking.has(data.lane_id)) return;
    const again = this.#answered.has(data.call_id);
    this.#answered.add(data.call_id);
    const asked = askedOf(data);
    if (data.tool === TRUST_DIRECTORY) this.#leaveUntrusted(data, again);
    else if (asked === undefined) this.#deny(data, again);
    else this.#leaveOpen(data, asked, again);
  }

  /** Denies the call, because nobody can be asked, and says once how to allow it. */
  #deny({ approval_id, call_id, tool, args }: Asked, again: boolean): void {
    const { rpc, session_id } = this.#opened!;
    rpc.call("session.approve", { session_id, approval_id, decision: "deny" }).catch(() => {});
    if (again) return;
    const asks_for_more = tool === "run_command" && accessWords(args) !== undefined;
    const every_session = tool === APPROVAL_TOOL || asks_for_more || writesLater(args) ||
      (tool === REMEMBER && reachesFar((args as { scope?: Scope }).scope));
    const with_person = this.#options.temporary ? "svc chat" : `svc chat --session ${session_id}`;
    const hint = every_session
      ? `this always needs an answer; give it with \`${with_person}\``
      : "--allow with a rule or --approve auto allows such calls";
    const call = exactLine(callLine(tool, args));
    console.error(`svc: denied, because nobody can be asked: ${call} (${named(hint)})`);
    this.#progress.denied++;
    this.#line({ type: "denied", call_id, tool, args, hint });
  }

  /** Goes on without the directory's own rules and hooks. */
  #leaveUntrusted({ approval_id }: Asked, again: boolean): void {
    const { rpc, session_id } = this.#opened!;
    const message = "nobody is there to decide";
    rpc.call("session.approve", { session_id, approval_id, decision: "deny", message })
      .catch(() => {});
    if (again) return;
    console.error(
      "svc: the rules and hooks of this directory are left out, because nobody can be asked; " +
        `${named("`svc permissions trust` trusts them")}`,
    );
  }

  /** Tells the model that nobody is there to answer. */
  #leaveOpen(
    { approval_id, call_id }: Asked,
    { question, options }: PersonQuestion,
    again: boolean,
  ): void {
    const { rpc, session_id } = this.#opened!;
    rpc.call("session.answer", { session_id, approval_id, unanswered: "nobody" }).catch(() => {});
    if (again) return;
    console.error(`svc: nobody is there to answer: ${exactLine(question)}`);
    this.#line({ type: "unanswered", call_id, question, options });
  }

  /** Cancels the turn at the first signal; exits at the second, or if there is no turn. */
  #onSignal(reason: string): void {
    if (this.#opened === undefined || this.#stopped !== undefined) Deno.exit(exitCodeOf(reason));
    this.#stop(reason);
  }

  #stop(reason: string): void {
    this.#stopped ??= reason;
    this.#cancel();
  }

  #cancel(): void {
    if (this.#opened === undefined) return;
    this.#takeBack(this.#opened).catch(() => {});
  }

  /** Withdraws a queued message; the running turn is then another one's. */
  async #takeBack({ rpc, session_id }: Opened): Promise<void> {
    const message_ids = this.#message_id === undefined ? [] : [this.#message_id];
    const { messages } = await rpc.call("session.withdraw", { session_id, message_ids });
    if (messages.length === 0) await rpc.call("session.cancel", { session_id });
  }

  #line(line: Line): void {
    this.#face.line?.(line);
  }

  #result({ stop_reason, error }: End): ResultLine {
    const { answer, usage, steps, tool_calls, denied } = this.#progress;
    const { value, problems } = this.#checked ?? {};
    return {
      type: "result",
      stop_reason,
      exit_code: exitCodeOf(stop_reason),
      result: answer,
      value,
      schema_problems: problems?.length ? problems : undefined,
      error,
      session_id: this.#opened?.session_id,
      model: this.#model,
      usage,
      duration_ms: Math.round(performance.now() - this.#started),
      steps,
      tool_calls,
      denied,
    };
  }

  #parkedAdvice(): string {
    if (this.#options.temporary) {
      return "it was ended; with --keep the daemon would continue it then";
    }
    const { session_id } = this.#opened!;
    return `the daemon continues it then; \`svc chat --session ${session_id}\` shows it, and ` +
      "/cancel there ends it";
  }

  #complain({ stop_reason, error }: End): void {
    if (stop_reason === "ok") return;
    const why = error === undefined ? "" : `: ${visible(named(error))}`;
    console.error(`svc: turn ${stop_reason}${why}`);
    if (stop_reason === "parked") console.error(`     ${named(this.#parkedAdvice())}`);
    if (stop_reason !== "schema") return;
    for (const problem of this.#checked!.problems) console.error(`     ${visible(problem)}`);
    console.error(`     the answer was:\n${visible(this.#progress.answer)}`);
  }
}

/** Notes that also a person who sees only the answer must read. */
const FOR_PEOPLE: ReadonlySet<string> = new Set([
  FILES_UNREADABLE,
  LATER_FILES,
  PARKED,
  RULES_LEFT_OUT,
]);

/** @throws {SvcError} if the session's next message cannot be limited. */
function requireLimitable(session: { id: string; activity: string; model: string }): void {
  if (session.model.startsWith("acp/")) {
    throw new SvcError("validation", `${session.model} cannot be limited by steps or cost`, {
      hint: "the agent makes its own model calls; leave out --max-steps and --max-usd",
    });
  }
  if (session.activity !== "idle") {
    throw new SvcError("conflict", `session ${session.id} is working, so its turn has its limits`, {
      hint: "wait until it is idle, or leave out --max-steps and --max-usd",
    });
  }
}

function onSignals(stop: (stop_reason: string) => void): { dispose(): void } {
  const reasons: [Deno.Signal, string][] = [["SIGINT", "cancelled"]];
  if (Deno.build.os !== "windows") reasons.push(["SIGTERM", "terminated"]);
  const listeners = reasons.map(([signal, reason]) => [signal, () => stop(reason)] as const);
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  return {
    dispose: () => {
      for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
    },
  };
}

/** Whether a file tool would write something that runs later; every session asks about that. */
function writesLater(args: unknown): boolean {
  const { path, paths = [] } = args as { path?: unknown; paths?: unknown[] };
  return [path, ...paths].some((each) => {
    const later = typeof each === "string" ? laterByName(`/${each}`) : undefined;
    return later !== undefined && later.only !== "asked";
  });
}
