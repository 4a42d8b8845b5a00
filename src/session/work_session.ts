/** Sessions that work for a feature of the daemon. */
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import type { EventData, TurnUsage } from "../protocol/events.ts";
import type { CreateOptions } from "./maker.ts";
import type { Hub } from "./hub.ts";
import type { Session } from "./session.ts";
import type { Published, Subscription } from "./subscription.ts";

export type TurnResult =
  & Pick<EventData["turn.completed"], "stop_reason" | "message" | "error">
  & { usage?: TurnUsage };

interface WorkSessionParts {
  hub: Hub;
  log: Log;
}

export interface WorkSessionOptions extends CreateOptions {
  /** Identifies it after a crash; see {@linkcode endWorkSessions}. */
  title: string;
  onEvent?(event: Published): void;
}

export class WorkSession {
  readonly #session: Session;
  readonly #parts: WorkSessionParts;
  readonly #subscription: Subscription;
  #turn: PromiseWithResolvers<TurnResult> | undefined;

  private constructor(session: Session, parts: WorkSessionParts, options: WorkSessionOptions) {
    this.#session = session;
    this.#parts = parts;
    this.#subscription = session.subscribe({
      deliver: (event) => {
        options.onEvent?.(event);
        if (event.type !== "turn.completed") return;
        const { stop_reason, message, error, usage } = event.data;
        this.#turn?.resolve({ stop_reason, message, error, usage });
      },
      ended: (error) => this.#end(error?.message ?? "the session ended"),
    }, { deltas: "session" });
    this.#subscription.start();
  }

  /** Starts a work session. @throws {SvcError} validation for an unusable workdir */
  static async start(parts: WorkSessionParts, options: WorkSessionOptions): Promise<WorkSession> {
    const { onEvent: _, ...create } = options;
    return new WorkSession(await parts.hub.create(create), parts, options);
  }

  get id(): string {
    return this.#session.id;
  }

  /**
   * Starts a turn, one at a time. The returned `turn` never rejects.
   *
   * @throws {SvcError} `ended`, or conflict when the session is paused
   */
  async begin(prompt: string): Promise<{ turn: Promise<TurnResult> }> {
    const turn = Promise.withResolvers<TurnResult>();
    this.#turn = turn;
    await this.#session.send(prompt);
    return { turn: turn.promise };
  }

  /** Ends the session; resolves when its processes are gone. Never rejects. */
  async stop(reason: "killed" | "completed" = "killed"): Promise<void> {
    if (!this.#session.final) await endSession(this.#parts, this.id, reason);
    this.#subscription.close();
    this.#end("the session ended");
  }

  #end(error: string): void {
    this.#turn?.resolve({ stop_reason: "error", message: "", error });
  }
}

/** Ends the work sessions that a crash left over, found by their titles. */
export async function endWorkSessions(parts: WorkSessionParts, title: RegExp): Promise<void> {
  for (const item of await parts.hub.list(false)) {
    if (item.state === "unreadable" || !title.test(item.title)) continue;
    await endSession(parts, item.id, "killed");
  }
}

/** Ends a session; logs failures. Never rejects. */
export async function endSession(
  { hub, log }: WorkSessionParts,
  session_id: string,
  reason: "killed" | "completed",
): Promise<void> {
  try {
    await hub.kill(session_id, reason);
  } catch (error) {
    if (error instanceof SvcError && error.code === "ended") return;
    log.warn("could not end a work session", { session_id, error: messageOf(error) });
  }
}
