/** Converts tasks into the form for A2A clients. */
import { toText } from "@std/streams";
import {
  type Artifact,
  Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from "@a2a-js/sdk";
import type { Draft } from "./draft_store.ts";
import type { HireResult } from "../calls.ts";
import type {
  Artifact as TaskArtifact,
  TaskLogEntry,
  TaskRecord,
  TaskStatus as RecordStatus,
} from "../../tasks/task.ts";

type TaskClient = HireResult<"hire.client">["client"];

export interface ViewOptions {
  /** The address of surface B for the client; artifacts' addresses begin with it. */
  base_url: string;
  /** The id by which the client groups its tasks. */
  context_id: string;
  /** Opens an artifact, if its text may be shown with the task. */
  open?(name: string): Promise<ReadableStream<Uint8Array>>;
}

/** The most notes in a task's history; the newest are kept. */
const NOTES_MAX = 100;
/** The most text of an artifact in its task, in bytes; the rest is at the artifact's address. */
const INLINE_MAX = 64 * 1024;
const INLINE_TYPES = /^(?:text\/|application\/json$)/;
/** The id of the artifact with the summary; files have their names as ids. */
const SUMMARY_ID = "summary";

function stateOf({ status, cancelled }: TaskRecord): TaskState {
  if (status === "failed" && cancelled) return TaskState.TASK_STATE_CANCELED;
  return STATES[status];
}

const STATES: Record<RecordStatus, TaskState> = {
  queued: TaskState.TASK_STATE_SUBMITTED,
  running: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
};

/** Returns the group of a task; one that was not requested over A2A is its own group. */
export function contextOf(task_id: string, client: TaskClient): string {
  return client?.context_id ?? task_id;
}

/** Returns a record without artifacts, so that none is opened to show it. */
export function withoutArtifacts({ summary: _, artifacts: __, ...record }: TaskRecord): TaskRecord {
  return record;
}

/** Returns a task without history. */
export async function toTask(record: TaskRecord, options: ViewOptions): Promise<Task> {
  return {
    id: record.id,
    contextId: options.context_id,
    status: statusOf(record, options),
    artifacts: await artifactsOf(record, options),
    history: [],
    metadata: metadataOf(record),
  };
}

/** Returns the history of a task: the client's message, then the notes of the executor. */
export function historyOf(
  client: TaskClient,
  task_id: string,
  steps: readonly TaskLogEntry[],
): Message[] {
  const context_id = contextOf(task_id, client);
  const notes = steps.filter(({ event }) => event === "note").slice(-NOTES_MAX);
  // The messages of a draft, or the only one.
  const said = [client?.message ?? []].flat();
  return [
    ...said.map((it) => ({ ...Message.fromJSON(it), taskId: task_id, contextId: context_id })),
    ...notes.map((entry) => noteOf(entry, task_id, context_id)),
  ];
}

/** Returns a draft as a task that waits for its client, with the open question in its status. */
export function draftTask({ id, context_id, state, changed_at, said }: Draft): Task {
  const cancelled = state === "cancelled";
  const messages = said.map((it) => Message.fromJSON(it));
  return {
    id,
    contextId: context_id,
    status: {
      state: cancelled ? TaskState.TASK_STATE_CANCELED : TaskState.TASK_STATE_INPUT_REQUIRED,
      timestamp: changed_at,
      message: cancelled ? undefined : messages.at(-1),
    },
    artifacts: [],
    history: cancelled ? messages : messages.slice(0, -1),
    metadata: undefined,
  };
}

/** Converts a step of a task into an update of its status, if it changes that. */
export function toUpdate(
  task_id: string,
  entry: TaskLogEntry,
  { context_id }: ViewOptions,
): StreamResponse | undefined {
  const state = STATE_AFTER[entry.event];
  if (state === undefined) return undefined;
  const message = entry.event === "started" ? undefined : noteOf(entry, task_id, context_id);
  return statusUpdate(task_id, context_id, { state, timestamp: entry.at, message });
}

/** Steps that do not end a task, and the state after each. */
const STATE_AFTER: Record<string, TaskState> = {
  started: TaskState.TASK_STATE_WORKING,
  note: TaskState.TASK_STATE_WORKING,
  retry: TaskState.TASK_STATE_SUBMITTED,
  returned: TaskState.TASK_STATE_SUBMITTED,
};

/** Returns the end of a task as updates: its artifacts, then its final status. */
export async function toEnd(record: TaskRecord, options: ViewOptions): Promise<StreamResponse[]> {
  const { context_id: contextId } = options;
  const artifacts = await artifactsOf(record, options);
  return [
    ...artifacts.map((artifact): StreamResponse => {
      const whole = { append: false, lastChunk: true, metadata: undefined };
      const value = { taskId: record.id, contextId, artifact, ...whole };
      return { payload: { $case: "artifactUpdate", value } };
    }),
    statusUpdate(record.id, contextId, statusOf(record, options), metadataOf(record)),
  ];
}

function statusUpdate(
  taskId: string,
  contextId: string,
  status: TaskStatus,
  metadata?: Record<string, unknown>,
): StreamResponse {
  return { payload: { $case: "statusUpdate", value: { taskId, contextId, status, metadata } } };
}

function statusOf(record: TaskRecord, { context_id }: ViewOptions): TaskStatus {
  const { id, error, created_at, started_at, completed_at } = record;
  return {
    state: stateOf(record),
    timestamp: completed_at ?? started_at ?? created_at,
    message: error === undefined
      ? undefined
      : agentMessage(`${id}-error`, id, context_id, [textPart(error)]),
  };
}

/** Returns the fields of a record other than state, times and files. */
function metadataOf({ task_type, attempts, size, verification, usage }: TaskRecord) {
  const known = Object.entries({ task_type, attempts, size, verification, usage });
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}

async function artifactsOf(record: TaskRecord, options: ViewOptions): Promise<Artifact[]> {
  const { summary, artifacts = [] } = record;
  const made: Artifact[] = [];
  let is_said = summary === undefined;
  for (const artifact of artifacts) {
    const { name, media_type, size, sha256 } = artifact;
    const part = { ...await contentOf(artifact, options), filename: name, mediaType: media_type };
    is_said ||= part.content?.$case === "text" && part.content.value === summary;
    made.push(newArtifact(name, [part], { size, sha256 }));
  }
  // A report is often its own summary, which hosts would show twice.
  return is_said ? made : [newArtifact(SUMMARY_ID, [textPart(summary!)]), ...made];
}

async function contentOf(
  { name, media_type, size, url }: TaskArtifact,
  { base_url, open }: ViewOptions,
): Promise<Part> {
  const inline = open !== undefined && INLINE_TYPES.test(media_type) && size <= INLINE_MAX;
  if (inline) return textPart(await toText(await open(name)));
  return newPart({ $case: "url", value: `${base_url}${url}` });
}

function newArtifact(
  artifactId: string,
  parts: Part[],
  metadata?: Record<string, unknown>,
): Artifact {
  return { artifactId, name: artifactId, description: "", parts, metadata, extensions: [] };
}

function noteOf({ seq, event, detail }: TaskLogEntry, task_id: string, context_id: string) {
  return agentMessage(`${task_id}-${seq}`, task_id, context_id, [textPart(detail ?? event)]);
}

function agentMessage(
  messageId: string,
  taskId: string,
  contextId: string,
  parts: Part[],
): Message {
  const nothing = { metadata: undefined, extensions: [], referenceTaskIds: [] };
  return { messageId, taskId, contextId, role: Role.ROLE_AGENT, parts, ...nothing };
}

function newPart(content: Part["content"]): Part {
  return { content, metadata: undefined, filename: "", mediaType: "" };
}

function textPart(value: string): Part {
  return newPart({ $case: "text", value });
}
