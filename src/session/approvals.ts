/** The approvals that wait in a session: asked for by its lanes, decided by its clients. */
import { SvcError } from "../protocol/errors.ts";
import { type Decision, type EventData, MAIN_LANE } from "../protocol/events.ts";
import type { Ids } from "./ids.ts";
import type { Lanes } from "./lanes.ts";
import type { SessionState } from "./state.ts";
import type { Writer } from "./writer.ts";

/** What an approval is asked for. */
export type ApprovalRequest = Omit<EventData["approval.requested"], "approval_id" | "lane_id">;

export class Approvals {
  readonly #state: SessionState;
  readonly #writer: Writer;
  readonly #lanes: Lanes;
  readonly #ids: Ids;
  readonly #pending = new Map<string, (decision: Decision) => void>();

  constructor(state: SessionState, writer: Writer, lanes: Lanes, ids: Ids) {
    this.#state = state;
    this.#writer = writer;
    this.#lanes = lanes;
    this.#ids = ids;
  }

  /**
   * Asks for a decision and waits for it; its lane is blocked meanwhile. What is always allowed is
   * not asked.
   *
   * A request that is given up by its signal is withdrawn when its lane ends, one of the main lane
   * when its turn ends.
   *
   * @param options.lane_id who asks; the main lane by default.
   * @throws {DOMException} AbortError when the signal fires first.
   */
  async ask(
    request: ApprovalRequest,
    { lane_id = MAIN_LANE, signal }: { lane_id?: string; signal: AbortSignal },
  ): Promise<Decision> {
    if (this.#state.allowed.includes(request.rule)) return "allow";
    signal.throwIfAborted();
    const approval_id = this.#ids.next("appr");
    const decided = Promise.withResolvers<Decision>();
    decided.promise.catch(() => {});
    this.#pending.set(approval_id, decided.resolve);
    const stopped = () => decided.reject(signal.reason);
    signal.addEventListener("abort", stopped, { once: true });
    try {
      await this.#writer.emit("approval.requested", { approval_id, lane_id, ...request });
      await this.#lanes.move(lane_id, "blocked", "waiting for approval", "approval");
      const decision = await decided.promise;
      if (!this.#state.pending_approvals.some((it) => it.lane_id === lane_id)) {
        await this.#lanes.move(lane_id, "running", "the approval was decided", "approval");
      }
      return decision;
    } finally {
      signal.removeEventListener("abort", stopped);
      this.#pending.delete(approval_id);
    }
  }

  /**
   * Decides a pending approval.
   *
   * @param by who decided, for the record.
   * @param shown names what the person was shown; see `shownDigest`.
   * @throws {SvcError} not_found when none of that id is pending, conflict when the person was shown
   * something else.
   */
  async decide(
    approval_id: string,
    decision: Decision,
    by: string,
    shown?: string,
  ): Promise<void> {
    const asked = this.#state.pending_approvals.find((it) => it.approval_id === approval_id);
    if (shown !== undefined && asked !== undefined && shown !== await digestOf(asked)) {
      throw new SvcError("conflict", `approval ${approval_id} is for a different request`, {
        hint: "read the question again with session.get before you answer it",
      });
    }
    const resolve = this.#pending.get(approval_id);
    if (resolve === undefined) {
      throw new SvcError(
        "not_found",
        `no approval ${approval_id} is pending in session ${this.#state.id}`,
      );
    }
    this.#pending.delete(approval_id);
    await this.#writer.emit("approval.resolved", { approval_id, decision, by });
    resolve(decision);
  }
}

async function digestOf(asked: EventData["approval.requested"]): Promise<string> {
  const { shownDigest } = await import("./question.ts");
  return await shownDigest(asked);
}
