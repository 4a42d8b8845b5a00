/** The cortex of a daemon: the memory, open only while it is in use, and the lobes. */
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

interface CortexParts {
  /** Whether there is a database; the first write creates it. */
  exists(): boolean;
  openDb(): Promise<DatabaseSync>;
  audit_path: string;
  log: Log;
  settings(): CortexSettings;
  model(id: string): Promise<Model>;
  /** In USD. */
  cost(model_id: string, usage: Usage): number;
  /** Returns why a session's budget is used up. */
  spent(session: Session): string | undefined;
  newId(prefix: "mem" | "lane" | "call"): string;
}

interface CortexSettings {
  curator: boolean;
  /** Of a prompt; 0 turns the recaller off. */
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

  /** Starts the work at once when the memory is open, before anything can close it. */
  #use<T>(work: (memory: Memory) => T): Promise<T> {
    return this.#open().then(work);
  }

  /** Returns `none` while nothing was ever stored. */
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
   * @param session receives the event, and owns the entry in scope Session or Worker
   * @throws {SvcError} as {@linkcode Memory.remember}
   */
  async remember(proposal: Proposal, session?: Session): Promise<Written> {
    const reader = session && { ...readerOf(session), trusted: true };
    const written = await this.#use((memory) => memory.remember(proposal, { reader }));
    if (session !== undefined) await announce(session, written);
    return written;
  }

  /**
   * Remembers something for a model or the curator, with an audit record.
   * @param source_msg_id the person's message that it came from; default: the last one
   * @throws {SvcError} as {@linkcode Memory.remember}
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
   * Changes an entry for a client.
   * @param session the new owner, in scope Session or Worker
   * @throws {SvcError} as {@linkcode Memory.update}
   */
  update(entry_id: string, changes: Changes, session?: Session): Promise<Entry> {
    const reader = session && { ...readerOf(session), trusted: true };
    return this.#use((memory) => memory.update(entry_id, changes, reader));
  }

  /** Searches the entries that a session sees; without a session, all. */
  recall(text: string, limit: number, session?: Session): Promise<Recalled[]> {
    const reader = session && readerOf(session);
    return this.#read([], (memory) => memory.recall(text, { reader, limit }));
  }

  /** Deletes an entry permanently. @throws {SvcError} not_found. */
  forget(entry_id: string): Promise<void> {
    return this.#use((memory) => memory.forget(entry_id));
  }

  /** See {@linkcode Memory.query}. */
  query(options: Parameters<Memory["query"]>[0]): Promise<ReturnType<Memory["query"]>> {
    const none = { entries: [], truncated: false };
    return this.#read(none, (memory) => memory.query(options));
  }

  /** See {@linkcode Memory.list}. */
  list(options: Parameters<Memory["list"]>[0]): Promise<ReturnType<Memory["list"]>> {
    return this.#read({ entries: [] }, (memory) => memory.list(options));
  }

  /** See {@linkcode AuditTrail.page}. */
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

  /** Also holds after a restart. Work in progress is finished. */
  setLobePaused(lobe: LobeName, paused: boolean): Promise<void> {
    return this.#use((memory) => memory.setLobePaused(lobe, paused));
  }

  /**
   * The recaller: records the entries about the waiting messages. A turn does not fail because the
   * memory cannot be read.
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

  /** The curator: reads a completed turn in the background. */
  turnCompleted(session: Session): void {
    if (this.#stopped || !this.#parts.settings().curator) return;
    const { approval, trust, temporary } = session.state;
    if (approval === "read_only" || trust === "untrusted" || temporary) return;
    if (this.#parts.spent(session) === undefined) this.#curators.turnCompleted(session);
  }

  sessionEnded(session_id: string): void {
    this.#curators.sessionEnded(session_id);
  }

  /** Deletes the session's own entries. */
  async sessionDeleted(session_id: string): Promise<void> {
    await this.#read(undefined, (memory) => memory.forgetSession(session_id));
  }

  // ── rest and end ─────────────────────────────────────────────────────────────────────────────

  /** Closes the database until it is needed again. */
  async rest(): Promise<void> {
    const closed = this.#memory?.then((memory) => memory.close(), () => {});
    this.#memory = undefined;
    await closed;
  }

  /** Cancels the lobes; resolves when that is recorded. */
  async stopLobes(): Promise<void> {
    this.#stopped = true;
    await this.#curators.stop();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.rest();
  }
}

/** Entries shown to the curator, so that it does not propose them again. */
const KNOWN_MAX = 10;

function readerOf({ id, state }: Session): Reader {
  return { session_id: id, workdir: state.workdir, trusted: state.trust === "trusted" };
}

async function announce(session: Session, { entry, is_new }: Written): Promise<void> {
  if (!is_new) return;
  const { entry_id, category, scope, content_sha } = entry;
  await session.emit("memory.written", { entry_id, category, scope, content_sha });
}
