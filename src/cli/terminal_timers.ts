/** What happens on a terminal a while after something else did. */
import type { ApprovalView } from "../features/tui/model.ts";

/** A question can be answered when it has been on the screen so long. */
const ARM_MS = 400;
/** The chat is at rest when nothing was painted for so long. */
const REST_MS = 5_000;

/** Lets a question be answered when a person has had time to see that it is there. */
export class Arming {
  readonly #arm: () => void;
  #approval: ApprovalView | undefined;
  #timer: number | undefined;

  constructor(arm: () => void) {
    this.#arm = arm;
  }

  /** This question is on the screen now, or none. */
  seen(approval: ApprovalView | undefined): void {
    if (approval === this.#approval) return;
    clearTimeout(this.#timer);
    this.#approval = approval;
    if (approval !== undefined) this.#timer = setTimeout(this.#arm, ARM_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/** Gives memory back when the chat comes to rest: after a long answer most of it is garbage. */
export class MemoryAtRest {
  #timer: number | undefined;
  #trim: (() => void) | undefined;

  /** Something was painted. */
  used(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#rest(), REST_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #rest(): Promise<void> {
    const { memoryTrimmer } = await import("../os/memory.ts");
    this.#trim ??= memoryTrimmer();
    this.#trim();
  }
}
