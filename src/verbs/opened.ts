import type { HookedCall, HookVerdict } from "../agent/call_hooks.ts";
import type { Ruling } from "../agent/ruling.ts";
import type { Judged, Tool, ToolOutcome } from "../agent/tool.ts";
import type { ToolCall } from "../models/model.ts";
import type { Session } from "../session/session.ts";
import type { Turn, TurnEnd } from "../session/turn.ts";
import type { Published } from "../session/subscription.ts";

/**
 * What a feature does in one daemon. Only the services are required; the rest is called at the
 * moments that the names say. What takes time or memory is opened on first use.
 */
export interface Opened<S> {
  /** What the handlers of its verbs and the features after it in the list get. */
  readonly services: S;

  // ── start ────────────────────────────────────────────────────────────────────────────────────
  /**
   * Reads the feature's own files, at the start and whenever the configuration is read again.
   *
   * @returns what puts them into effect.
   * @throws {SvcError} when a file has an error: the daemon does not start, or nothing changes.
   */
  read?(): Promise<() => void | Promise<void>>;
  /** Listens beside the daemon's own doors, where they open. */
  listen?(): Promise<Listener | undefined>;
  /** Continues what a stop interrupted, once the sessions are known. Nothing waits for it. */
  resume?(): Promise<void>;

  // ── sessions ─────────────────────────────────────────────────────────────────────────────────
  /** Tools that models are given in every session. */
  tools?(): Promise<readonly Tool[]>;
  /** Tools of one session, for one step. @throws the signal's reason. */
  sessionTools?(session: Session, signal: AbortSignal): Promise<readonly Tool[]>;
  /** Before the first step of a turn. */
  beforeTurn?(session: Session, turn: Turn): Promise<void>;
  /** Before the first model call of a turn that this program runs itself. */
  beforeModel?(session: Session, turn: Turn): Promise<void>;
  /** After the calls of a step, before the next model call. */
  afterCalls?(session: Session, turn: Turn, calls: readonly ToolCall[]): Promise<void>;
  /** What the person's rules say about a call; one feature knows them. */
  judge?(session: Session, tool: Judged, args: unknown): Promise<Ruling>;
  /** Runs the operator's hooks before a call; one feature provides this. */
  beforeCall?(
    session: Session,
    call: HookedCall,
    signal: AbortSignal,
  ): Promise<HookVerdict | undefined>;
  /** Runs the hooks after a call, and returns their text for the model. */
  afterCall?(
    session: Session,
    call: HookedCall,
    outcome: ToolOutcome,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** Before a call that may change files, once it was allowed. */
  beforeWrite?(session: Session, turn: Turn): Promise<void>;
  /**
   * Begins to watch the directory of a session for what is written there beside its calls. Never
   * throws.
   *
   * @returns ends it; never throws
   */
  watchWrites?(session: Session): Promise<() => Promise<void>>;
  /** After the last call of a turn, before its end is recorded. */
  afterTurn?(session: Session, turn: Turn): Promise<void>;
  /** Runs the turns of models that are none of the providers'. */
  readonly agents?: Agents;
  /** Told what was committed to a session's journal; must neither wait nor throw. */
  onEvents?(session: Session, events: readonly Published[]): void;
  /** Told of events of the daemon itself. */
  onDaemonEvent?(type: string, data: Record<string, unknown>): void;
  /** Ends what works for a session, before the session's own end is recorded. */
  beforeEnd?(session: Session): Promise<void>;
  /** Told that a session has ended. */
  onEnded?(session_id: string): void;
  /** Told that a session works in another directory, or that its own has another path. */
  onMoved?(session_id: string): void;
  /** Removes everything the feature stores about a deleted session, also from an earlier daemon. */
  onDeleted?(session_id: string): Promise<void>;
  /** Told that the last busy session has come to rest. */
  onRest?(): void;
  /** Paths of a working directory that no tool may see. */
  hides?(workdir: string): readonly string[];
  /** Real paths of directories that are written beside those of the sessions. */
  writable?(): readonly string[];

  // ── stop ─────────────────────────────────────────────────────────────────────────────────────
  /** Brings work to a safe point that needs running sessions; all features at once. */
  finish?(grace_ms: number): Promise<void> | undefined;
  /** Ends what watches sessions, before they stop. */
  quiesce?(): Promise<void> | undefined;
  /** Ends everything else, after the sessions have stopped; the last feature first. */
  stop?(): Promise<void> | undefined;
}

/** What runs the turns of sessions with certain models. */
export interface Agents {
  /** Whether it answers this model's sessions. */
  answers(model_id: string): boolean;
  /** Why an agent cannot be started; undefined when it can. */
  problem(name: string): string | undefined;
  runTurn(session: Session, turn: Turn): Promise<TurnEnd>;
}

export interface Listener {
  readonly port: number;
  close(): Promise<unknown>;
}
