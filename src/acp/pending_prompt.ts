import { type PromptResponse, RequestError } from "@agentclientprotocol/sdk";
import { stopReason } from "./updates.ts";

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

  /** Sets the seq of its message: earlier ends belong to other turns. */
  sent(seq: number): void {
    this.#sent_seq = seq;
    if (this.#end !== undefined) this.ended(this.#end);
  }

  /** Takes a turn's end, which may come before the message's seq is known. */
  ended(end: TurnEnd): void {
    this.#end = end;
    if (this.#sent_seq === undefined || end.seq < this.#sent_seq) return;
    const reason = stopReason(end.stop_reason);
    if (reason !== undefined) this.#done.resolve({ stopReason: reason });
    else this.failed(`the turn ended: ${end.error ?? end.stop_reason}`);
  }

  withdrawn(seq: number): void {
    if (this.#sent_seq === seq) this.#done.resolve({ stopReason: "cancelled" });
  }

  failed(message: string): void {
    this.#done.reject(new RequestError(-32603, message));
  }
}
