/** Delayed actions of the terminal chat. */
import { SPIN_MS } from "../features/tui/status.ts";
import type { ApprovalView } from "../features/tui/model.ts";

/** How long a question must be visible before it can be answered. */
const ARM_MS = 400;
/** The chat is at rest if nothing was painted for this long. */
const REST_MS = 5_000;

/** Lets a question be answered once the person has had time to see it. */
export class Arming {
  readonly #arm: () => void;
  #approval: ApprovalView | undefined;
  #timer: number | undefined;

  constructor(arm: () => void) {
    this.#arm = arm;
  }

  /** Reports the question that is on the screen, if any. */
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

/** Moves the screen on while a turn works: twice a second, and never at rest. */
export class Ticker {
  readonly #tick: () => void;
  #timer: number | undefined;

  constructor(tick: () => void) {
    this.#tick = tick;
  }

  /** Reports after a frame whether the next one differs by its time alone. */
  painted(moves: boolean): void {
    if (!moves) return this.close();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tick();
    }, SPIN_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Releases memory when the chat comes to rest: after a long answer most of it is garbage. */
export class MemoryAtRest {
  #timer: number | undefined;
  #trim: (() => void) | undefined;

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
