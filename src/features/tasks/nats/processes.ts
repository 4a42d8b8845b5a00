/**
 * The processes that run tasks, and how to detect lost ones: each listens on its own subject, so
 * the server knows.
 */
import { errors } from "@nats-io/nats-core";
import { delay } from "@std/async";
import { messageOf } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Jet } from "./link.ts";
import type { Steps } from "./steps.ts";
import { stepped } from "./transitions.ts";

const SUBJECT = "svc.processes";
const LOOK_EVERY_MS = 3_000;
const ANSWER_MS = 2_000;
/** How long to wait for answers of workers: in total, and after the last one. */
const COUNT_MS = 500;
const COUNT_STALL_MS = 100;

/** The part of a process that others ask about. */
interface Answering {
  /** How many queued tasks it runs at once. */
  readonly workers: number;
  /** Resolves when it no longer works on a task. */
  idle(task_id: string): Promise<void>;
}

/**
 * Answers for this process until the connection ends: immediately to an empty request, to the id of
 * a task when no executor of this process works on it any longer, and always to {@linkcode
 * countWorkers}.
 */
export function answerFor({ nc }: Jet, process: string, worker: Answering): void {
  nc.subscribe(`${SUBJECT}.${process}`, {
    callback: (error, message) => {
      if (error === null) void worker.idle(message.string()).then(() => message.respond());
    },
  });
  nc.subscribe(SUBJECT, {
    callback: (error, message) => void (error ?? message.respond(String(worker.workers))),
  });
}

/** Returns how many queued tasks all responding processes, including this one, run at once. */
export async function countWorkers({ nc }: Jet): Promise<number> {
  let count = 0;
  const wait = { strategy: "stall", maxWait: COUNT_MS, stall: COUNT_STALL_MS } as const;
  for await (const message of await nc.requestMany(SUBJECT, "", wait)) {
    count += Number(message.string());
  }
  return count;
}

/**
 * WaitingClients until a process no longer works on a task. @throws when it is lost or does not finish in
 * time.
 */
export async function untilIdle(
  { nc }: Jet,
  { process, task_id, timeout_ms }: { process: string; task_id: string; timeout_ms: number },
): Promise<void> {
  await nc.request(`${SUBJECT}.${process}`, task_id, { timeout: timeout_ms });
}

export interface WatchParts {
  steps: Steps;
  log: Log;
  /** Returns milliseconds since 1970. */
  now(): number;
}

/**
 * Gives the tasks of lost processes to others, until the signal fires. The queue does so too, but
 * only while somebody takes tasks from it.
 */
export async function watchProcesses(jet: Jet, parts: WatchParts, signal: AbortSignal) {
  /** The processes that were missing at the last check; a connection may come back. */
  let missing = new Set<string>();
  while (!signal.aborted) {
    await delay(LOOK_EVERY_MS, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      missing = await look(jet, parts, missing);
    } catch (error) {
      parts.log.debug("cannot check the workers", { error: messageOf(error) });
    }
  }
}

/** @returns the missing processes */
async function look(
  jet: Jet,
  { steps, log, now }: WatchParts,
  missing_before: ReadonlySet<string>,
): Promise<Set<string>> {
  const missing = new Set<string>();
  for (const [process, ids] of steps.index.running()) {
    if (await isThere(jet, process)) continue;
    missing.add(process);
    if (!missing_before.has(process)) continue;
    for (const id of ids) {
      const change = await steps.change(
        id,
        (task) =>
          task.record.status === "running" && task.process === process
            ? stepped(task, { kind: "lost" }, now())
            : undefined,
      );
      if (change?.changed) log.warn("lost the worker of a task", { task_id: id, process });
    }
  }
  return missing;
}

/** Reports whether a process is listening; one that does not answer in time may be busy. */
async function isThere({ nc }: Jet, process: string): Promise<boolean> {
  try {
    await nc.request(`${SUBJECT}.${process}`, "", { timeout: ANSWER_MS });
    return true;
  } catch (error) {
    return !(error instanceof errors.RequestError && error.isNoResponders());
  }
}
