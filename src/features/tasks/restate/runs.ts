/**
 * The attempts of this process.
 *
 * Restate calls an attempt again when the connection breaks: the server restarted, the network was
 * cut, or the process died. An attempt must not run twice, so the process that took it keeps it:
 * called again there, the attempt goes on; called elsewhere, it waits. The process that has it then
 * sends a sign of life and in the end the outcome to the object `svc-orphan`. Without one for
 * {@linkcode LOST_MS}, while Restate can be reached, the attempt is lost. A process that took an
 * attempt and was not called again before it began hands it back.
 */
import { deadline, delay } from "@std/async";
import { monotonicUlid } from "@std/ulid";
import { messageOf } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import { type Clock, SYSTEM_CLOCK } from "../../../base/clock.ts";
import type { ArtifactStore } from "../artifacts.ts";
import { type Attempt, Attempts } from "../attempts.ts";
import { checkedExecutors } from "../executors/checked.ts";
import type { ExecutorRegistry } from "../executors/registry.ts";
import { DETAIL_MAX, type Outcome } from "../lifecycle.ts";
import {
  type Ended,
  type Holder,
  type Note,
  type Orphan,
  orphanKey,
  type Run,
  runKey,
} from "./api.ts";
import type { Ingress } from "./ingress.ts";

export interface RunsParts {
  ingress: Ingress;
  executors: ExecutorRegistry;
  artifacts: ArtifactStore;
  log: Log;
  /** The name of this machine; default: its host name. */
  machine?: string;
  /** Called for each attempt that starts or ends in this process. */
  onStep?(step: WorkerStep): void;
  clock?: Clock;
  /** Returns a number from 0 up to 1, for jitter. */
  random?: () => number;
}

/** An event of a worker, for observers. */
export interface WorkerStep {
  event: "started" | Outcome["kind"];
  task_id: string;
  task_type: string;
  attempt: number;
}

interface Held {
  run: Run;
  /** Absent until it begins. */
  attempt?: Attempt;
  outcome: PromiseWithResolvers<Ended>;
  ended?: Outcome;
  /** Of the calls of Restate that wait for it; one fires when its connection has ended. */
  calls: Set<AbortSignal>;
  orphaned: boolean;
  /** Notes that wait for those before them: they go together. */
  unsent: Note[];
  /** Ends when all notes have gone. */
  notes: Promise<void>;
}

/** Without a sign of life for so long, an attempt is lost. */
export const LOST_MS = 10_000;
const BEAT_MS = 2_000;
const LOOK_MS = 1_000;
const AGAIN_MS = 500;
/** How long a sign of life may take: the next one may find a way. */
const BEAT_ANSWER_MS = 3_000;
/** How long an attempt that has not begun waits for Restate to call it again. */
const UNBEGUN_MS = 3_000;
/** How many outcomes are kept that other processes have, too. */
const HANDED_MAX = 1_000;
/** How long an attempt waits for its last notes. */
const NOTES_MS = 2_000;

export class Runs {
  readonly holder: Holder;
  readonly #executors: ExecutorRegistry;
  readonly #parts: RunsParts;
  readonly #clock: Clock;
  readonly #attempts: Attempts;
  readonly #held = new Map<string, Held>();
  /** How attempts ended that this process no longer has: they must not begin again here. */
  readonly #handed = new Map<string, Ended>();
  readonly #closed = new AbortController();
  #closing = false;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    const { log, artifacts, executors, clock = SYSTEM_CLOCK, random = Math.random } = parts;
    this.#clock = clock;
    const machine = parts.machine ?? Deno.hostname();
    this.holder = { process: monotonicUlid(), machine, worker: `${machine}/${Deno.pid}` };
    this.#executors = checkedExecutors(executors);
    this.#attempts = new Attempts({
      records: {
        settle: ({ id, attempt, outcome }) => Promise.resolve(this.#end(id, attempt, outcome)),
        log: (_at, id, _event, text) => this.#note(id, text),
      },
      executors: this.#executors,
      log,
      clock,
      random,
      artifacts,
      onWorkerFree() {},
    });
  }

  /** How many attempts this process has. */
  get busy(): number {
    return this.#held.size;
  }

  /**
   * Takes an attempt for this process.
   *
   * @param over fires when the connection of this call has ended
   * @throws when it is stopping; another process takes it then
   */
  hold(run: Run, over: AbortSignal): Holder {
    if (this.#closing) throw new Error("this worker is stopping");
    const key = runKey(run);
    if (!this.#held.has(key)) {
      this.#held.set(key, {
        run,
        outcome: Promise.withResolvers(),
        calls: new Set(),
        orphaned: false,
        unsent: [],
        notes: Promise.resolve(),
      });
    }
    this.called(run, over);
    return this.holder;
  }

  /** Restate calls an attempt, perhaps again. @param over as of {@linkcode Runs.hold} */
  called(run: Run, over: AbortSignal): void {
    const key = runKey(run);
    const held = this.#held.get(key);
    if (held === undefined || held.calls.has(over)) return;
    held.calls.add(over);
    over.addEventListener("abort", () => {
      held.calls.delete(over);
      if (held.calls.size === 0 && this.#held.get(key) === held) void this.#keepAlive(key, held);
    }, { once: true });
  }

  /**
   * Returns how an attempt ends. The process that holds it runs it once, however often it is called.
   *
   * @param over as of {@linkcode Runs.hold}
   */
  outcome(run: Run, holder: Holder, over: AbortSignal): Promise<Ended> {
    const key = runKey(run);
    if (holder.process !== this.holder.process) {
      // What this process took was not recorded.
      this.#held.delete(key);
      return this.#outcomeElsewhere(orphanKey(run, holder), over);
    }
    const held = this.#held.get(key);
    if (held === undefined) return Promise.resolve(this.#handed.get(key) ?? { kind: "lost" });
    if (held.attempt === undefined && held.ended === undefined) this.#begin(held);
    return held.outcome.promise;
  }

  #begin(held: Held): void {
    const { run } = held;
    if (this.#closing) return this.#return(held, "the worker stopped");
    this.#tell("started", run);
    held.attempt = this.#attempts.begin(run, true);
  }

  /** Hands back an attempt that has not begun. */
  #return(held: Held, reason: string): void {
    held.ended = { kind: "returned", reason };
    held.outcome.resolve(held.ended);
  }

  /** Returns what only this attempt may work on; null for most. */
  async target({ request }: Run): Promise<string | null> {
    try {
      return await this.#executors.get(request.task_type).exclusive?.(request) ?? null;
    } catch {
      // The executor will say what is wrong with the request.
      return null;
    }
  }

  /**
   * Stops the executor of a cancelled task, and waits for it.
   *
   * @returns whether this process had the attempt
   */
  async stop(run: Pick<Run, "id" | "run">): Promise<boolean> {
    const held = this.#held.get(runKey(run));
    if (held === undefined) return false;
    const cancelled = { kind: "failed", error: "cancelled", cancelled: true } as const;
    if (held.attempt !== undefined) await this.#attempts.end(held.attempt, cancelled);
    this.#hand(runKey(run), { kind: "lost" });
    // The call that asked may not outlive its connection, and the next one finds nothing here.
    void this.#free(held.run);
    return true;
  }

  /** The outcome of an attempt has reached Restate. */
  forget(run: Pick<Run, "id" | "run">): void {
    this.#held.delete(runKey(run));
  }

  /** Forgets an attempt whose end others know, or decide. */
  #hand(key: string, ended: Ended): void {
    this.#held.delete(key);
    this.#handed.set(key, ended);
    for (const oldest of this.#handed.keys()) {
      if (this.#handed.size <= HANDED_MAX) break;
      this.#handed.delete(oldest);
    }
  }

  #end(task_id: string, attempt: number, outcome: Outcome): void {
    // One that was given up elsewhere may still be here when the next one begins.
    const held = this.#held.values().find(({ run, attempt: begun, ended }) =>
      run.id === task_id && run.attempt === attempt && begun !== undefined && ended === undefined
    );
    if (held === undefined) return;
    held.ended = outcome;
    this.#tell(outcome.kind, held.run);
    const late = delay(NOTES_MS, { signal: this.#closed.signal, persistent: false });
    void Promise.race([held.notes, late]).catch(() => {}).then(() => held.outcome.resolve(outcome));
  }

  #tell(event: WorkerStep["event"], { id: task_id, request: { task_type }, attempt }: Run): void {
    this.#parts.onStep?.({ event, task_id, task_type, attempt });
  }

  #note(task_id: string, text: string): Promise<void> {
    const held = [...this.#held.values()].findLast(({ run, attempt }) =>
      run.id === task_id && attempt !== undefined
    );
    if (held === undefined) return Promise.resolve();
    const note = { now: this.#clock.now(), text: text.slice(0, DETAIL_MAX) };
    if (held.unsent.push(note) > 1) return held.notes;
    const { id, run } = held.run;
    const sent = held.notes.catch(() => {}).then(() => {
      const notes = held.unsent.splice(0);
      return this.#parts.ingress.call("svc-task", id, "note", { run, notes });
    });
    held.notes = sent;
    return sent;
  }

  /** Says that this process lives, until Restate calls the attempt here again or has its outcome. */
  async #keepAlive(key: string, held: Held): Promise<void> {
    if (held.orphaned) return;
    held.orphaned = true;
    const { signal } = this.#closed;
    const waits = () => held.calls.size === 0 && this.#held.get(key) === held && !signal.aborted;
    try {
      if (held.attempt === undefined) {
        await delay(UNBEGUN_MS, { signal }).catch(() => {});
        const unbegun = held.attempt === undefined && held.ended === undefined;
        if (waits() && unbegun) this.#return(held, "the connection broke before it began");
      }
      while (waits()) {
        const outcome = held.ended;
        const orphan = await this.#beat(held.run, outcome);
        if (orphan?.lost) {
          this.#parts.log.warn("an attempt was given up elsewhere", { task_id: held.run.id });
          await this.stop(held.run);
          return;
        }
        if (orphan?.outcome !== undefined) return this.#hand(key, orphan.outcome);
        const wait_ms = orphan === undefined ? AGAIN_MS : BEAT_MS;
        await Promise.race([
          delay(wait_ms, { signal }),
          ...(outcome === undefined ? [held.outcome.promise] : []),
        ]).catch(() => {});
      }
    } finally {
      held.orphaned = false;
      if (waits()) void this.#keepAlive(key, held);
    }
  }

  /** Lets others work on the target of an attempt that was stopped here. Never rejects. */
  async #free(run: Run): Promise<void> {
    const target = await this.target(run);
    if (target === null) return;
    const taker = { task_id: run.id, run: run.run, machine: this.holder.machine, left: false };
    await this.#parts.ingress.call("svc-target", target, "free", taker).catch((error) => {
      this.#parts.log.debug("cannot free a target", { target, error: messageOf(error) });
    });
  }

  /** Sends a sign of life; returns undefined when Restate cannot be reached. */
  async #beat(run: Run, outcome: Outcome | undefined): Promise<Orphan | undefined> {
    const { ingress, log } = this.#parts;
    const key = orphanKey(run, this.holder);
    const sent = ingress.call("svc-orphan", key, "beat", { outcome }).catch((error) => {
      log.debug("cannot reach Restate", { error: messageOf(error) });
      return undefined;
    });
    return await deadline(sent, BEAT_ANSWER_MS).catch(() => undefined);
  }

  /** Waits for the process that holds an attempt, or until it is lost. */
  async #outcomeElsewhere(key: string, over: AbortSignal): Promise<Ended> {
    const { ingress } = this.#parts;
    let seen: number | undefined;
    let since = 0;
    while (true) {
      over.throwIfAborted();
      const orphan = await ingress.call("svc-orphan", key, "look").catch(() => undefined);
      const now = performance.now();
      const { beats, lost, outcome } = orphan ?? {};
      if (outcome !== undefined) return outcome;
      if (lost) return { kind: "lost" };
      if (beats === undefined || beats !== seen || now - since > LOST_MS * 2) {
        // The time of an outage, or of a pause of this process, does not count.
        seen = beats;
        since = now;
      } else if (now - since >= LOST_MS) {
        await ingress.call("svc-orphan", key, "give_up", { beats }).catch(() => {});
        continue;
      }
      await delay(LOOK_MS, { signal: over });
    }
  }

  /**
   * Lets attempts end for `grace_ms`, then stops them; they go back to the queue. Their outcomes
   * have a few seconds to reach Restate.
   */
  async close(grace_ms: number): Promise<void> {
    this.#closing = true;
    for (const [key, held] of this.#held) {
      if (held.attempt !== undefined) continue;
      this.#return(held, "the worker stopped");
      // Restate may call it elsewhere, where its end is looked for.
      void this.#beat(held.run, held.ended).then(() => this.#hand(key, held.ended!));
    }
    await this.#attempts.close(grace_ms);
    const until = performance.now() + 5_000;
    while (this.#held.size > 0 && performance.now() < until) await delay(20);
    this.#closed.abort();
  }
}
