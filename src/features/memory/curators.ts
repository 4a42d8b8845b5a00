/** The curators of all sessions, at most one for each session. */
import { delay } from "@std/async";
import type { Model, Usage } from "../../models/model.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import type { Session } from "../../session/session.ts";
import { curate } from "./curator.ts";
import { excerptOf } from "./curator_answer.ts";
import type { Entry, Proposal } from "../../protocol/memory.ts";

interface CuratorsParts {
  log: Log;
  model(id: string): Promise<Model>;
  /** In USD. */
  cost(model_id: string, usage: Usage): number;
  newId(prefix: "lane" | "call"): string;
  isPaused(): Promise<boolean>;
  /** Only entries that the session sees. */
  known(text: string, session: Session): Promise<readonly Entry[]>;
  /** @throws {SvcError} when the session may not write it */
  write(proposal: Proposal, session: Session, source_msg_id: string): Promise<void>;
}

interface Curating {
  stop: AbortController;
  /** Resolves when it and all earlier ones have ended. */
  done: Promise<void>;
}

/** Turns that follow each other more quickly are read as one. */
const QUIET_MS = 2_000;

export class Curators {
  readonly #parts: CuratorsParts;
  readonly #curating = new Map<string, Curating>();
  /** Where the unread messages begin, by session. */
  readonly #unread = new Map<string, number>();

  constructor(parts: CuratorsParts) {
    this.#parts = parts;
  }

  get working(): boolean {
    return this.#curating.size > 0;
  }

  /** Reads a finished turn in the background. */
  turnCompleted(session: Session): void {
    const { id } = session;
    const earlier = this.#curating.get(id);
    // The next run reads what was unread. Its open question was passed over.
    earlier?.stop.abort(new DOMException("the next turn has ended", "AbortError"));
    const stop = new AbortController();
    const done = this.#readTurn(session, stop.signal)
      .catch((error) => {
        if (stop.signal.aborted) return;
        this.#parts.log.warn("could not read a turn", { session_id: id, error: messageOf(error) });
      })
      .finally(async () => {
        await earlier?.done;
        if (this.#curating.get(id)?.stop === stop) this.#curating.delete(id);
      });
    this.#curating.set(id, { stop, done });
  }

  async #readTurn(session: Session, signal: AbortSignal): Promise<void> {
    const { isPaused, model: resolve, cost, newId, known, write } = this.#parts;
    if (await isPaused()) {
      // Messages during a pause stay unread.
      this.#unread.delete(session.id);
      return;
    }
    const { last_message_id } = session.state;
    const { excerpt, length } = await this.#unreadOf(session);
    if (excerpt === "") return;
    await delay(QUIET_MS, { signal });
    // The session continues: its next run reads this turn too.
    if (session.state.turn !== undefined) return;
    const model = await resolve(session.state.model);
    await curate(session, excerpt, {
      model,
      cost: (usage) => cost(model.id, usage),
      newId,
      known: (text) => known(text, session),
      write: (proposal) => write(proposal, session, last_message_id),
      onRead: () => this.#unread.set(session.id, length),
    }, signal);
  }

  /** The unread messages, and the number of all messages. */
  async #unreadOf(session: Session): Promise<{ excerpt: string; length: number }> {
    const messages = (await session.transcript()).messages()
      .filter((message) => message.role !== "user" || !message.notice);
    const unread = this.#unread.get(session.id) ?? Infinity;
    // Compaction shortens a conversation.
    const from = unread <= messages.length ? unread : lastTurnIn(messages);
    this.#unread.set(session.id, from);
    return { excerpt: excerptOf(messages.slice(from)), length: messages.length };
  }

  sessionEnded(session_id: string): void {
    this.#curating.get(session_id)?.stop.abort(new DOMException("it has ended", "AbortError"));
    this.#unread.delete(session_id);
  }

  /** Cancels all; resolves when that is recorded. */
  async stop(): Promise<void> {
    const curating = [...this.#curating.values()];
    for (const { stop } of curating) {
      stop.abort(new DOMException("the daemon is stopping", "AbortError"));
    }
    await Promise.all(curating.map(({ done }) => done));
  }
}

/** Where the messages of the last turn begin. */
function lastTurnIn(messages: readonly { role: string }[]): number {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const before = messages.slice(0, last).findLastIndex(({ role }) => role !== "user");
  return before + 1;
}
