import type { HookedCall, HookVerdict } from "../agent/call_hooks.ts";
import type { Ruling } from "../agent/ruling.ts";
import type { Judged, Tool, ToolOutcome } from "../agent/tool.ts";
import type { ToolCall } from "../models/model.ts";
import type { Session } from "../session/session.ts";
import type { Turn, TurnEnd } from "../session/turn.ts";
import type { Published } from "../session/subscription.ts";

/** A feature's hooks in one daemon, called when their names say. Only services are required. */
export interface Opened<S> {
  /** For its verbs' handlers and later features. */
  readonly services: S;

  // ── start ────────────────────────────────────────────────────────────────────────────────────
  /**
   * Reads the feature's files at the start and at each reload. The result puts them into effect.
   *
   * @throws {SvcError} when a file has an error: the daemon does not start, or nothing changes
   */
  read?(): Promise<() => void | Promise<void>>;
  /** Listens when the daemon's own doors open. */
  listen?(): Promise<Listener | undefined>;
  /** Continues interrupted work once the sessions are known. Nothing waits for it. */
  resume?(): Promise<void>;

  // ── sessions ─────────────────────────────────────────────────────────────────────────────────
  /** Tools for every session. */
  tools?(): Promise<readonly Tool[]>;
  /** Tools for one step of one session. @throws the signal's reason */
  sessionTools?(session: Session, signal: AbortSignal): Promise<readonly Tool[]>;
  /** Before the first step of a turn. */
  beforeTurn?(session: Session, turn: Turn): Promise<void>;
  /** Before the first model call of a turn that this program runs itself. */
  beforeModel?(session: Session, turn: Turn): Promise<void>;
  /** After the calls of a step. */
  afterCalls?(session: Session, turn: Turn, calls: readonly ToolCall[]): Promise<void>;
  /** The person's rules for a call; one feature provides this. */
  judge?(session: Session, tool: Judged, args: unknown): Promise<Ruling>;
  /** Runs the operator's hooks before a call; one feature provides this. */
  beforeCall?(
    session: Session,
    call: HookedCall,
    signal: AbortSignal,
  ): Promise<HookVerdict | undefined>;
  /** Runs the hooks after a call; returns their text for the model. */
  afterCall?(
    session: Session,
    call: HookedCall,
    outcome: ToolOutcome,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** Before an allowed call that may change files. */
  beforeWrite?(session: Session, turn: Turn): Promise<void>;
  /** Watches a session's directory for other writes; the result ends that. Neither throws. */
  watchWrites?(session: Session): Promise<() => Promise<void>>;
  /** After the last call of a turn, before its end is recorded. */
  afterTurn?(session: Session, turn: Turn): Promise<void>;
  /** Runs turns of models without a provider. */
  readonly agents?: Agents;
  /** Called with committed events; must not wait or throw. */
  onEvents?(session: Session, events: readonly Published[]): void;
  /** Called with the daemon's own events. */
  onDaemonEvent?(type: string, data: Record<string, unknown>): void;
  /** Ends work for a session before its end is recorded. */
  beforeEnd?(session: Session): Promise<void>;
  onEnded?(session_id: string): void;
  /** Called when a session's directory changes or is renamed. */
  onMoved?(session_id: string): void;
  /** Removes all data about a deleted session, also from an earlier daemon. */
  onDeleted?(session_id: string): Promise<void>;
  /** Called when the last busy session comes to rest. */
  onRest?(): void;
  /** Paths in a workdir to hide from all tools. */
  hides?(workdir: string): readonly string[];
  /** Further real paths that are written. */
  writable?(): readonly string[];

  // ── stop ─────────────────────────────────────────────────────────────────────────────────────
  /** Brings work to a safe point while sessions still run; all features at once. */
  finish?(grace_ms: number): Promise<void> | undefined;
  /** Stops watching sessions, before they stop. */
  quiesce?(): Promise<void> | undefined;
  /** Stops everything else after the sessions; the last feature first. */
  stop?(): Promise<void> | undefined;
}

/** Runs turns of certain models. */
export interface Agents {
  /** Whether it answers for a model. */
  answers(model_id: string): boolean;
  /** Why an agent cannot start, if so. */
  problem(name: string): string | undefined;
  runTurn(session: Session, turn: Turn): Promise<TurnEnd>;
}

export interface Listener {
  readonly port: number;
  close(): Promise<unknown>;
}
