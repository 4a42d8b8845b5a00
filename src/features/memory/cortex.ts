/**
 * The cortex of a daemon: its memory, opened when it is needed and given back at rest, and the lobes
 * that use it for the sessions.
 */
import type { DatabaseSync } from "node:sqlite";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import type { Model, Usage } from "../../models/model.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import { type AuditPage, AuditTrail } from "./audit.ts";
import { Curators } from "./curators.ts";
import type { Changes, Entry, Proposal } from "../../protocol/memory.ts";
import { type Reader } from "./rules.ts";
import { CURATOR, type Lobe, type LobeName, LOBES, RECALLER, SUMMARIES } from "./lobes.ts";
import { Memory, type Recalled, type Written } from "./memory.ts";
import { memoryFor, type PromptMemory } from "./prompt.ts";
import { MemoryStore } from "./store.ts";

export interface CortexParts {
  /** Whether there is a database yet; one is made at the first write. */
  exists(): boolean;
  openDb(): Promise<DatabaseSync>;
  /** Of the audit trail. */
  audit_path: string;
  log: Log;
  settings(): CortexSettings;
  model(id: string): Promise<Model>;
  /** What a model call cost, in USD. */
  cost(model_id: string, usage: Usage): number;
  /** Says that a session's budget is used up. */
  spent(session: Session): string | undefined;
  newId(prefix: "mem" | "lane" | "call"): string;
}

/** `[cortex]` of daemon.toml. */
export interface CortexSettings {
  /** Whether turns are read when they are over. */
  curator: boolean;
  /** Tokens that a prompt may be given of the memory; 0 for none. */
  recall_tokens: number;
}

export class Cortex {
  readonly #parts: CortexParts;
  readonly #audit: AuditTrail;
  readonly #curators: Curators;
  #memory: Promise<Memory> | undefined;
  #stopped = false;
  #closed = false;

  constructor(parts: CortexParts) {
    this.#parts = parts;
    this.#audit = new AuditTrail(parts.audit_path, parts.log);
    const { log, model, cost, newId } = parts;
    this.#curators = new Curators({
      log,
      model,
      cost,
      newId,
      isPaused: () => this.#read(false, (memory) => memory.pausedLobes().has(CURATOR)),
      known: (text, session) => this.recall(text, KNOWN_MAX, session),
      write: async (...write) => void (await this.rememberItself(...write)),
    });
  }

  // ── the memory ───────────────────────────────────────────────────────────────────────────────

  /**
   * Does something with the memory, at once when it is open: what closes it at rest comes after.
   */
  #use<T>(work: (memory: Memory) => T): Promise<T> {
    return this.#open().then(work);
  }

  /** As {@linkcode Cortex.#use}, or gives `none` as long as nothing was ever kept. */
  async #read<T>(none: T, work: (memory: Memory) => T): Promise<T> {
    return this.#memory === undefined && !this.#parts.exists() ? none : await this.#use(work);
  }

  #open(): Promise<Memory> {
    if (this.#closed) {
      return Promise.reject(new SvcError("shutting_down", "the daemon is stopping"));
    }
    return this.#memory ??= this.#parts.openDb()
      .then((db) =>
        Memory.open({
          store: new MemoryStore(db),
          audit: this.#audit,
          newId: () => this.#parts.newId("mem"),
        })
      )
      .catch((error) => {
        this.#memory = undefined;
        throw error;
      });
  }

  /**
   * Remembers something for a client.
   *
   * @param session the one whose event tells of it, and whose entry it is in scope Session or Worker.
   * @throws {SvcError} as {@linkcode Memory.remember}.
   */
  async remember(proposal: Proposal, session?: Session): Promise<Written> {
    const reader = session && { ...readerOf(session), trusted: true };
    const written = await this.#use((memory) => memory.remember(proposal, { reader }));
    if (session !== undefined) await announce(session, written);
    return written;
  }

  /**
   * Remembers something for a session by itself: its model asked for it, or the curator. Each such
   * write has its audit record.
   *
   * @param source_msg_id the person's message that it came from; the last one by default.
   * @throws {SvcError} as {@linkcode Memory.remember}.
   */
  async rememberItself(
    proposal: Proposal,
    session: Session,
    source_msg_id: string = session.state.last_message_id,
  ): Promise<Written> {
    const reader = readerOf(session);
    const options = { reader, source_msg_id };
    const written = await this.#use((memory) => memory.remember(proposal, options));
    await announce(session, written);
    return written;
  }

  /**
   * Makes another of an entry, for a client.
   *
   * @param session whose entry it is from now on, in scope Session or Worker.
   * @throws {SvcError} as {@linkcode Memory.update}.
   */
  update(entry_id: string, changes: Changes, session?: Session): Promise<Entry> {
    const reader = session && { ...readerOf(session), trusted: true };
    return this.#use((memory) => memory.update(entry_id, changes, reader));
  }

  /** Finds entries about a text: those that a session sees, or without one all. */
  recall(text: string, limit: number, session?: Session): Promise<Recalled[]> {
    const reader = session && readerOf(session);
    return this.#read([], (memory) => memory.recall(text, { reader, limit }));
  }

  /** Forgets an entry for good. @throws {SvcError} not_found. */
  forget(entry_id: string): Promise<void> {
    return this.#use((memory) => memory.forget(entry_id));
  }

  /** Lists entries by their key; see {@linkcode Memory.query}. */
  query(options: Parameters<Memory["query"]>[0]): Promise<ReturnType<Memory["query"]>> {
    const none = { entries: [], truncated: false };
    return this.#read(none, (memory) => memory.query(options));
  }

  /** Lists entries; see {@linkcode Memory.list}. */
  list(options: Parameters<Memory["list"]>[0]): Promise<ReturnType<Memory["list"]>> {
    return this.#read({ entries: [] }, (memory) => memory.list(options));
  }

  /** Records of automatic writes and changes; see {@linkcode AuditTrail.page}. */
  audit(options: { limit: number; cursor?: string }): Promise<AuditPage> {
    return this.#audit.page(options);
  }

  // ── lobes ────────────────────────────────────────────────────────────────────────────────────

  async lobes(): Promise<Lobe[]> {
    const paused = await this.#read(new Set<string>(), (memory) => memory.pausedLobes());
    const { curator, recall_tokens } = this.#parts.settings();
    const on: Record<LobeName, boolean> = { recaller: recall_tokens > 0, curator };
    const working: Record<LobeName, boolean> = { recaller: false, curator: this.#curators.working };
    return LOBES.map((lobe) => ({
      lobe,
      summary: SUMMARIES[lobe],
      status: !on[lobe] ? "off" : paused.has(lobe) ? "paused" : working[lobe] ? "working" : "idle",
    }));
  }

  /** Pauses a lobe or lets it go on; that holds beyond a restart. What it is at, it finishes. */
  setLobePaused(lobe: LobeName, paused: boolean): Promise<void> {
    return this.#use((memory) => memory.setLobePaused(lobe, paused));
  }

  /**
   * The recaller, at the beginning of a turn: records what the memory has about the messages that
   * wait. A memory that cannot be read is no reason to leave a message unanswered.
   */
  async recallForTurn(session: Session, turn: Turn): Promise<void> {
    const { recall_tokens: budget_tokens } = this.#parts.settings();
    if (budget_tokens === 0) return;
    const { waiting, recalled: known } = await session.transcript();
    const options = { reader: readerOf(session), known, budget_tokens };
    let found: PromptMemory | undefined;
    try {
      found = await this.#read(undefined, (memory) => {
        const paused = memory.pausedLobes().has(RECALLER);
        return paused ? undefined : memoryFor(memory, waiting.join("\n"), options);
      });
    } catch (error) {
      const { id: session_id } = session;
      this.#parts.log.warn("cannot read the memory", { session_id, error: messageOf(error) });
    }
    if (found === undefined) return;
    const entries = found.entries
      .map(({ entry_id, category, scope }) => ({ entry_id, category, scope }));
    await session.emit("memory.recalled", { turn_id: turn.turn_id, entries, text: found.text });
  }

  /** The curator, at the end of a turn that ended well; nothing waits for it. */
  turnCompleted(session: Session): void {
    if (this.#stopped || !this.#parts.settings().curator) return;
    const { approval, trust } = session.state;
    if (approval === "read_only" || trust === "untrusted") return;
    if (this.#parts.spent(session) === undefined) this.#curators.turnCompleted(session);
  }

  /** Forgets what was kept at hand of a session that is gone. */
  sessionEnded(session_id: string): void {
    this.#curators.sessionEnded(session_id);
  }

  /** Forgets the entries for a session alone: it is deleted. */
  async sessionDeleted(session_id: string): Promise<void> {
    await this.#read(undefined, (memory) => memory.forgetSession(session_id));
  }

  // ── rest and end ─────────────────────────────────────────────────────────────────────────────

  /** Gives the database back until it is needed again. */
  async rest(): Promise<void> {
    const closed = this.#memory?.then((memory) => memory.close(), () => {});
    this.#memory = undefined;
    await closed;
  }

  /** Stops the lobes; what one was at is recorded as cancelled when it resolves. */
  async stopLobes(): Promise<void> {
    this.#stopped = true;
    await this.#curators.stop();
  }

  /** Closes the memory for good. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.rest();
  }
}

/** Known entries that the curator is shown, so that it does not propose them again. */
const KNOWN_MAX = 10;

function readerOf({ id, state }: Session): Reader {
  return { session_id: id, workdir: state.workdir, trusted: state.trust === "trusted" };
}

async function announce(session: Session, { entry, is_new }: Written): Promise<void> {
  if (!is_new) return;
  const { entry_id, category, scope, content_sha } = entry;
  await session.emit("memory.written", { entry_id, category, scope, content_sha });
}
