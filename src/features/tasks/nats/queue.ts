/**
 * The work queue: a JetStream stream whose messages go to one worker each, and are delivered again
 * when that worker neither confirms nor extends them.
 *
 * There is one consumer for each mode and task type: servers before 2.10 filter by only one
 * subject, and a work queue does not allow two consumers for the same messages.
 */
import {
  AckPolicy,
  type Consumer,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type JsMsg,
  RetentionPolicy,
} from "@nats-io/jetstream";
import { nanos } from "@nats-io/nats-core";
import * as z from "zod";
import type { NewTask, TaskMode } from "../lifecycle.ts";
import type { Jet } from "./link.ts";
import { requireFits } from "./payload.ts";
import { newTaskSchema } from "../queued_schemas.ts";

/** A task in the queue. */
export interface QueuedTask extends NewTask {
  /** ISO 8601. */
  created_at: string;
}

const Queued: z.ZodType<QueuedTask> = newTaskSchema().extend({ created_at: z.iso.datetime() });

const STREAM = "SVC_TASKS";
const SUBJECTS = "svc.tasks";
/** How soon a task of a silent worker is delivered to another one. */
const ACK_WAIT_MS = 6_000;
/** How often a worker extends its task. */
export const HEARTBEAT_MS = 1_500;
/** The most tasks of one type in progress at once, on all machines. */
const UNDER_WAY_MAX = 20_000;
/** How long one request for a message waits at the server. */
const PULL_MS = 30_000;

/** Creates the stream if it does not exist; changes by an operator stay. */
export async function makeStream(jsm: JetStreamManager): Promise<void> {
  try {
    await jsm.streams.info(STREAM);
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.StreamNotFound)) throw error;
    await jsm.streams.add({
      name: STREAM,
      subjects: [`${SUBJECTS}.>`],
      retention: RetentionPolicy.Workqueue,
    });
  }
}

/** Adds a task to the queue. The server accepts an id once, however often it is sent. */
export async function publish({ nc, js }: Jet, task: QueuedTask): Promise<void> {
  const subject = `${SUBJECTS}.${task.mode}.${task.request.task_type}`;
  const payload = new TextEncoder().encode(JSON.stringify(task));
  requireFits(nc, payload);
  await js.publish(subject, payload, { msgID: task.id });
}

/** Returns the task in a message; undefined when it is not a valid task. */
export function taskOf(message: JsMsg): QueuedTask | undefined {
  try {
    return Queued.safeParse(message.json()).data;
  } catch {
    return undefined;
  }
}

/**
 * Reports the fate of a message to the queue. If that fails, the message is delivered and handled
 * again.
 */
export function tellQueue(tell: () => void): void {
  try {
    tell();
  } catch {
    // Its connection is closed.
  }
}

/** Returns the consumer of a mode and type; creates it when missing. */
export async function consumerOf({ js, jsm }: Jet, mode: TaskMode, task_type: string) {
  const name = `${mode}-${task_type}`;
  try {
    return await js.consumers.get(STREAM, name);
  } catch (error) {
    if (!isApiError(error, JetStreamApiCodes.ConsumerNotFound)) throw error;
    await jsm.consumers.add(STREAM, {
      durable_name: name,
      filter_subject: `${SUBJECTS}.${mode}.${task_type}`,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ACK_WAIT_MS),
      max_ack_pending: UNDER_WAY_MAX,
    });
    return await js.consumers.get(STREAM, name);
  }
}

/** Returns the next message; undefined when none came within 30 s, or the signal fired. */
export async function nextMessage(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<JsMsg | undefined> {
  const messages = await consumer.fetch({ max_messages: 1, expires: PULL_MS });
  const stop = () => void messages.close();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const message of messages) return message;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function isApiError(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}
