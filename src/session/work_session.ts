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
  /** When its work must be done, in milliseconds since 1970: it waits for no limit beyond. */
  deadline_at?: number;
  onEvent?(event: Published): void;
}

export type AdoptOptions = Pick<WorkSessionOptions, "title" | "deadline_at" | "onEvent">;

export class WorkSession {
  readonly #session: Session;
  readonly #parts: WorkSessionParts;
  readonly #subscription: Subscription;
  #turn: PromiseWithResolvers<TurnResult> | undefined;

  private constructor(
    session: Session,
    parts: WorkSessionParts,
    options: Pick<WorkSessionOptions, "onEvent">,
  ) {
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
    const { onEvent: _, deadline_at, ...create } = options;
    const session = await parts.hub.create(create);
    session.deadline_at = deadline_at;
    return new WorkSession(session, parts, options);
  }

  /** Takes over a session that a stop or a crash cut off; undefined if it has ended. */
  static async adopt(
    parts: WorkSessionParts,
    session_id: string,
    { title, deadline_at, onEvent }: AdoptOptions,
  ): Promise<WorkSession | undefined> {
    const session = await parts.hub.get(session_id).catch(() => undefined);
    if (session === undefined || session.final || session.state.title !== title) return undefined;
    session.deadline_at = deadline_at;
    parts.hub.claim(session_id);
    return new WorkSession(session, parts, { onEvent });
  }

  get id(): string {
    return this.#session.id;
  }

  /** Has a turn go on that was cut off. @returns its end, or that of the last turn if it had ended */
  async goOn(): Promise<{ turn: Promise<TurnResult> } | undefined> {
    const turn = Promise.withResolvers<TurnResult>();
    this.#turn = turn;
    if (this.#session.goOn() || this.#session.activity !== "idle") return { turn: turn.promise };
    let last: TurnResult | undefined;
    let waits = false;
    for await (const { type, data } of this.#session.journal.read(0)) {
      if (type === "turn.completed") last = data;
      if (type === "turn.completed" || type === "user.message") waits = type === "user.message";
    }
    if (waits) {
      // The turn of the last message has not begun, or is just beginning.
      this.#session.takeUp();
      return { turn: turn.promise };
    }
    if (last?.stop_reason === "interrupted") {
      // Such as one that too many crashes in a row have cut off.
      const id = await this.#session.continueTurn().catch(() => undefined);
      return id === undefined ? undefined : { turn: turn.promise };
    }
    this.#turn = undefined;
    if (last === undefined) return undefined;
    turn.resolve(last);
    return { turn: turn.promise };
  }

  /** Returns the ends of its turns so far, the oldest first; of one that went on, the last. */
  async turns(): Promise<TurnResult[]> {
    const turns = new Map<string, TurnResult>();
    for await (const { type, data } of this.#session.journal.read(0)) {
      if (type === "turn.completed") turns.set(data.turn_id, data);
    }
    return [...turns.values()];
  }

  get workdir(): string {
    return this.#session.state.workdir;
  }

  /** Leaves the session to the next daemon, at a safe point of its turn. Never rejects. */
  async leave(grace_ms: number): Promise<void> {
    await this.#session.pause("daemon_shutdown", grace_ms).catch((error) =>
      this.#parts.log.warn("could not pause a work session", {
        session_id: this.id,
        error: messageOf(error),
      })
    );
    this.#subscription.close();
    this.#end("the daemon is stopping");
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

/** Ends the work sessions that a crash left over, except those to `keep`. @param kind of ids */
export async function endWorkSessions(
  parts: WorkSessionParts,
  kind: "m" | "t",
  keep: ReadonlySet<string> = new Set(),
): Promise<void> {
  for (const item of await parts.hub.list(false)) {
    if (item.state === "unreadable" || keep.has(item.id)) continue;
    if (!item.works_for?.startsWith(`${kind}-`)) continue;
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
