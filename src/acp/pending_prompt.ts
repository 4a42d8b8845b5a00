import { type PromptResponse, RequestError } from "@agentclientprotocol/sdk";
import { stopReason } from "./updates.ts";

/** How a turn ended, and where in its session. */
export interface TurnEnd {
  seq: number;
  stop_reason: string;
  error?: string;
}

/** A prompt whose turn the editor waits for. */
export class PendingPrompt {
  readonly #done = Promise.withResolvers<PromptResponse>();
  #sent_seq: number | undefined;
  #end: TurnEnd | undefined;

  get done(): Promise<PromptResponse> {
    return this.#done.promise;
  }

  /** Its message has this seq: what ended before was another turn. */
  sent(seq: number): void {
    this.#sent_seq = seq;
    if (this.#end !== undefined) this.ended(this.#end);
  }

  /** A turn has ended, maybe before it is known where in the session the message stands. */
  ended(end: TurnEnd): void {
    this.#end = end;
    if (this.#sent_seq === undefined || end.seq < this.#sent_seq) return;
    const reason = stopReason(end.stop_reason);
    if (reason !== undefined) this.#done.resolve({ stopReason: reason });
    else this.failed(`the turn ended: ${end.error ?? end.stop_reason}`);
  }

  /** A message was taken back. */
  withdrawn(seq: number): void {
    if (this.#sent_seq === seq) this.#done.resolve({ stopReason: "cancelled" });
  }

  failed(message: string): void {
    this.#done.reject(new RequestError(-32603, message));
  }
}
