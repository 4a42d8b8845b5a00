/**
 * The attempts of this process.
 *
 * Restate calls an attempt again when the connection breaks: the server restarted, the network was
 * cut, or the process died. An attempt must not run twice, so the process that began it keeps it:
 * called again there, the attempt goes on; called elsewhere, it waits. The process that has it then
 * sends a sign of life and in the end the outcome to the object `svc-orphan`. Without one for
 * {@linkcode LOST_MS}, while Restate can be reached, the attempt is lost.
 */
import { delay } from "@std/async";
import { monotonicUlid } from "@std/ulid";
import { messageOf } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import { type Clock, SYSTEM_CLOCK } from "../../../base/clock.ts";
import type { ArtifactSink } from "../artifacts.ts";
import { Attempts } from "../attempts.ts";
import { checkedExecutors } from "../executors/checked.ts";
import type { ExecutorRegistry } from "../executors/registry.ts";
import type { Outcome } from "../lifecycle.ts";
import { type Ended, type Holder, type Run, runKey } from "./api.ts";
import type { Ingress } from "./ingress.ts";

export interface RunsParts {
  ingress: Ingress;
  executors: ExecutorRegistry;
  artifacts: ArtifactSink;
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
  outcome: PromiseWithResolvers<Outcome>;
  ended?: Outcome;
  /** How many calls of Restate wait for it. */
  calls: number;
  orphaned: boolean;
  /** Notes on their way. */
  notes: Promise<void>;
}

/** Without a sign of life for so long, an attempt is lost. */
export const LOST_MS = 10_000;
const BEAT_MS = 2_000;
const LOOK_MS = 1_000;
const AGAIN_MS = 500;
/** How long an attempt waits for its last notes. */
const NOTES_MS = 2_000;

export class Runs {
  readonly holder: Holder;
  readonly #executors: ExecutorRegistry;
  readonly #parts: RunsParts;
  readonly #clock: Clock;
  readonly #attempts: Attempts;
  readonly #held = new Map<string, Held>();
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
        settle: (settlements) => {
          for (const { id, outcome } of settlements) this.#end(id, outcome);
        },
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

  /** Takes an attempt for this process. @throws when it is stopping; another one takes it then. */
  hold(): Holder {
    if (this.#closing) throw new Error("this worker is stopping");
    return this.holder;
  }

  /**
   * Returns how an attempt ends. The process that holds it runs it once, however often it is called.
   *
   * @param over fires when the connection of this call has ended
   */
  outcome(run: Run, holder: Holder, over: AbortSignal): Promise<Ended> {
    if (holder.process !== this.holder.process) return this.#outcomeElsewhere(run, over);
    const key = runKey(run);
    const held = this.#held.get(key) ?? this.#begin(key, run);
    held.calls++;
    over.addEventListener("abort", () => {
      held.calls--;
      if (held.calls === 0 && this.#held.get(key) === held) void this.#keepAlive(key, held);
    }, { once: true });
    return held.outcome.promise;
  }

  #begin(key: string, run: Run): Held {
    const outcome = Promise.withResolvers<Outcome>();
    const held = { run, outcome, calls: 0, orphaned: false, notes: Promise.resolve() };
    this.#held.set(key, held);
    if (this.#closing) {
      this.#end(run.id, { kind: "returned", reason: "the worker stopped" });
    } else {
      this.#tell("started", run);
      this.#attempts.begin(run, true);
    }
    return held;
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
    const here = this.#held.has(runKey(run));
    if (here) await this.#attempts.cancel(run.id);
    this.forget(run);
    return here;
  }

  /** The outcome of an attempt has reached Restate. */
  forget(run: Pick<Run, "id" | "run">): void {
    this.#held.delete(runKey(run));
  }

  #end(task_id: string, outcome: Outcome): void {
    for (const held of this.#held.values()) {
      if (held.run.id !== task_id || held.ended !== undefined) continue;
      held.ended = outcome;
      this.#tell(outcome.kind, held.run);
      const late = delay(NOTES_MS, { signal: this.#closed.signal, persistent: false });
      void Promise.race([held.notes, late]).catch(() => {}).then(() =>
        held.outcome.resolve(outcome)
      );
    }
  }

  #tell(event: WorkerStep["event"], { id: task_id, request: { task_type }, attempt }: Run): void {
    this.#parts.onStep?.({ event, task_id, task_type, attempt });
  }

  #note(task_id: string, text: string): Promise<void> {
    const held = this.#held.values().find(({ run }) => run.id === task_id);
    if (held === undefined) return Promise.resolve();
    const { id, run } = held.run;
    const input = { now: this.#clock.now(), run, text };
    const sent = held.notes.then(() => this.#parts.ingress.call("svc-task", id, "note", input));
    held.notes = sent.catch(() => {});
    return sent;
  }

  /** Says that this process lives, until Restate calls the attempt here again or has its outcome. */
  async #keepAlive(key: string, held: Held): Promise<void> {
    if (held.orphaned) return;
    held.orphaned = true;
    const { ingress, log } = this.#parts;
    const { signal } = this.#closed;
    try {
      while (held.calls === 0 && this.#held.get(key) === held && !signal.aborted) {
        const outcome = held.ended;
        const orphan = await ingress.call("svc-orphan", key, "beat", { outcome }).catch((error) => {
          log.debug("cannot reach Restate", { error: messageOf(error) });
        });
        if (orphan?.lost) {
          log.warn("an attempt was given up elsewhere", { task_id: held.run.id });
          await this.stop(held.run);
          return;
        }
        if (orphan?.outcome !== undefined) return this.forget(held.run);
        const wait_ms = orphan === undefined ? AGAIN_MS : BEAT_MS;
        await Promise.race([
          delay(wait_ms, { signal }),
          ...(outcome === undefined ? [held.outcome.promise] : []),
        ]).catch(() => {});
      }
    } finally {
      held.orphaned = false;
    }
  }

  /** Waits for the process that holds an attempt, or until it is lost. */
  async #outcomeElsewhere(run: Run, over: AbortSignal): Promise<Ended> {
    const { ingress } = this.#parts;
    const key = runKey(run);
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
    await this.#attempts.close(grace_ms);
    const until = performance.now() + 5_000;
    while (this.#held.size > 0 && performance.now() < until) await delay(20);
    this.#closed.abort();
  }
}
