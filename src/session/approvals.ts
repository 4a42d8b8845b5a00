/** The pending approvals of a session: lanes ask for them, clients decide them. */
import { SvcError, wasAnswered } from "../protocol/errors.ts";
import { type Decision, type EventData, MAIN_LANE } from "../protocol/events.ts";
import type { Ids } from "./ids.ts";
import type { Lanes } from "./lanes.ts";
import type { PendingApproval, SessionState } from "./session_state.ts";
import type { Writer } from "./writer.ts";

/** An approval, or a question with its `kind`. */
type Request = Omit<EventData["approval.requested"], "approval_id" | "lane_id">;
export type ApprovalRequest = Omit<Request, "kind">;

type Resolution = Omit<EventData["approval.resolved"], "approval_id" | "by" | "shown">;

interface AskOptions {
  lane_id?: string;
  signal: AbortSignal;
  each_time?: boolean;
}

/** What a client sends with a decision. */
export interface DecideOptions {
  shown?: string;
  always?: EventData["approval.resolved"]["always"];
  message?: string;
}

interface ApprovalsParts {
  state: SessionState;
  writer: Writer;
  lanes: Lanes;
  ids: Ids;
  /** Continues the turn that waits for it, and reports whether a turn runs. */
  goOn(): boolean;
  /** Whether the daemon is stopping: the next one takes answers to what stays open. */
  stopping(): boolean;
  /** The error for an answer to an answered question. */
  answered(approval_id: string): Promise<SvcError | undefined>;
}

export class Approvals {
  readonly #parts: ApprovalsParts;
  readonly #pending = new Map<string, (how: Resolution) => void>();
  /** Decisions being recorded. */
  readonly #deciding = new Map<string, Promise<unknown>>();
  /** Decisions on questions that a continued turn is about to ask again. */
  readonly #early = new Map<string, PromiseWithResolvers<void>>();

  constructor(parts: ApprovalsParts) {
    this.#parts = parts;
  }

  /**
   * Asks for a decision and waits for it, unless the rule is always allowed; its lane is blocked
   * meanwhile. An aborted request is withdrawn when its lane ends, or the turn of the main lane.
   *
   * @param options.each_time also asks for what is always allowed
   * @throws {DOMException} AbortError when the signal fires first
   */
  async ask(request: ApprovalRequest, options: AskOptions): Promise<Decision> {
    return (await this.consult(request, options)).decision;
  }

  /** As {@linkcode ask}, with what the person says. */
  async consult(
    request: ApprovalRequest,
    { lane_id = MAIN_LANE, signal, each_time = false }: AskOptions,
  ): Promise<Pick<Resolution, "decision" | "message">> {
    if (!each_time && this.#parts.state.allowed.includes(request.rule)) {
      return { decision: "allow" };
    }
    return await this.request(request, lane_id, signal);
  }

  /** As {@linkcode ask}, for approvals and questions, and also for what is always allowed. */
  async request(
    request: Request,
    lane_id: string,
    signal: AbortSignal,
  ): Promise<Resolution> {
    signal.throwIfAborted();
    const open = await this.#openQuestion(request);
    // It may have fired meanwhile, and would not be heard any more.
    signal.throwIfAborted();
    const approval_id = open ?? this.#parts.ids.next("appr");
    const resolved = Promise.withResolvers<Resolution>();
    resolved.promise.catch(() => {});
    this.#pending.set(approval_id, resolved.resolve);
    const stopped = () => resolved.reject(signal.reason);
    signal.addEventListener("abort", stopped, { once: true });
    try {
      if (open === undefined) {
        await this.#parts.writer.emit("approval.requested", { approval_id, lane_id, ...request });
      }
      this.#early.get(approval_id)?.resolve();
      await this.#parts.lanes.move(
        lane_id,
        "blocked",
        `waiting for ${request.kind === undefined ? "approval" : "an answer"}`,
        "approval",
      );
      const how = await resolved.promise;
      if (!this.#parts.state.pending_approvals.some((it) => it.lane_id === lane_id)) {
        await this.#parts.lanes.move(lane_id, "running", "the approval was decided", "approval");
      }
      return how;
    } finally {
      signal.removeEventListener("abort", stopped);
      this.#pending.delete(approval_id);
    }
  }

  /** The question that a call asked before a cut-off; withdraws a different one. */
  async #openQuestion(
    request: Request,
  ): Promise<string | undefined> {
    const { pending_approvals } = this.#parts.state;
    const asked = pending_approvals.find((it) => it.call_id === request.call_id);
    if (asked === undefined || this.#pending.has(asked.approval_id)) return undefined;
    if (await digestOf(asked) === await digestOf(request)) return asked.approval_id;
    await this.#close(asked, "deny");
    return undefined;
  }

  /** Closes the approvals of a call; a question of the model stays: its call asks it again. */
  async settle(call_id: string, decision: Decision): Promise<void> {
    for (const asked of [...this.#parts.state.pending_approvals]) {
      if (asked.call_id === call_id && asked.kind === undefined) await this.#close(asked, decision);
    }
  }

  /** Denies the pending approvals of a call that has ended. */
  async withdraw(call_id: string): Promise<void> {
    for (const { approval_id, call_id: asks } of [...this.#parts.state.pending_approvals]) {
      if (asks !== call_id || !this.#pending.has(approval_id)) continue;
      await this.resolve(approval_id, { decision: "deny" }, "svc").catch((error) => {
        // The person may have been faster.
        if (!wasAnswered(error)) throw error;
      });
    }
  }

  async #close({ approval_id }: PendingApproval, decision: Decision): Promise<void> {
    await this.#parts.writer.emit("approval.resolved", { approval_id, decision, by: "svc" });
    this.#early.get(approval_id)?.resolve();
  }

  /** Releases decisions on questions that the turn did not ask again. */
  turnEnded(): void {
    for (const waiting of this.#early.values()) waiting.resolve();
  }

  /** Waits until the continued turn asks a question again. */
  async #askedAgain(approval_id: string): Promise<void> {
    if (!this.#parts.goOn()) return;
    let waiting = this.#early.get(approval_id);
    if (waiting === undefined) this.#early.set(approval_id, waiting = Promise.withResolvers());
    await waiting.promise;
    this.#early.delete(approval_id);
  }

  /**
   * Decides a pending approval. Denying a question skips it.
   *
   * @param by who decided, for the record
   * @param shown names what the person was shown; see `shownDigest`
   * @param always the rule that was kept instead of the request's own
   * @param message what the person says with a denial
   * @throws {SvcError} not_found; conflict when it was answered or the person was shown something
   * else; validation when a question is to be allowed
   */
  async decide(
    approval_id: string,
    decision: Decision,
    by: string,
    { shown, always, message }: DecideOptions = {},
  ): Promise<void> {
    if (message !== undefined && decision !== "deny") {
      throw new SvcError("validation", "message: goes with the decision deny", {
        hint: "send it to the session instead",
      });
    }
    if (this.find(approval_id)?.kind === undefined) {
      const kept = { ...(always && { always }), ...(message !== undefined && { message }) };
      return await this.resolve(approval_id, { decision, ...kept }, by, shown);
    }
    const { decideQuestion } = await import("./person_answers.ts");
    await decideQuestion(this, approval_id, decision, by, shown);
  }

  /** Resolves a pending approval or question; as {@linkcode decide}. */
  async resolve(approval_id: string, how: Resolution, by: string, shown?: string): Promise<void> {
    await this.pending(approval_id, shown);
    // Another client may have been faster.
    const resolve = this.#pending.get(approval_id);
    if (resolve === undefined) throw await this.#notPending(approval_id);
    this.#pending.delete(approval_id);
    const seen = shown === undefined ? {} : { shown };
    const decided = this.#parts.writer.emit("approval.resolved", {
      approval_id,
      by,
      ...seen,
      ...how,
    });
    this.#deciding.set(approval_id, decided);
    try {
      await decided;
    } finally {
      this.#deciding.delete(approval_id);
    }
    resolve(how);
  }

  find(approval_id: string): PendingApproval | undefined {
    return this.#parts.state.pending_approvals.find((it) => it.approval_id === approval_id);
  }

  /** Returns a pending approval; as {@linkcode decide}. */
  async pending(approval_id: string, shown?: string): Promise<PendingApproval> {
    const asked = this.find(approval_id);
    if (shown !== undefined && asked !== undefined && shown !== await digestOf(asked)) {
      throw new SvcError("conflict", `approval ${approval_id} is for a different request`, {
        hint: "read the question again with session.get before you answer it",
      });
    }
    if (asked?.lane_id === MAIN_LANE && !this.#pending.has(approval_id)) {
      if (this.#parts.stopping()) throw new SvcError("shutting_down", "the daemon is stopping");
      await this.#askedAgain(approval_id);
    }
    if (asked === undefined || !this.#pending.has(approval_id)) {
      throw await this.#notPending(approval_id);
    }
    return asked;
  }

  async #notPending(approval_id: string): Promise<SvcError> {
    await this.#deciding.get(approval_id)?.catch(() => {});
    return await this.#parts.answered(approval_id) ?? new SvcError(
      "not_found",
      `no approval ${approval_id} is pending in session ${this.#parts.state.id}`,
    );
  }
}

async function digestOf(asked: Omit<ApprovalRequest, "call_id">): Promise<string> {
  const { shownDigest } = await import("./question.ts");
  return await shownDigest(asked);
}
