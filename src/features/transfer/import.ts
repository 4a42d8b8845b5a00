import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { Message } from "../../models/model.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import { readLines } from "../../os/lines.ts";
import {
  ATTACHED_MAX,
  type Attachment,
  IMAGE_BYTES_MAX,
  MEDIA_TYPES,
} from "../../protocol/attachments.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import type { Hub } from "../../session/hub.ts";
import { type Anchor, BEGINNING, hasher } from "../../session/ledger.ts";
import { decodeRecord } from "../../session/record.ts";
import type { SessionState } from "../../session/session_state.ts";
import { applyToState, emptyState } from "../../session/state.ts";
import { titleOf } from "../../session/titles.ts";
import type { Item } from "../../session/transcript_items.ts";
import { Transcript } from "../../session/transcript.ts";
import { isTakenBack } from "../../session/undo_state.ts";
import { FORMAT, type Header, headerSchema, type ImportParams } from "./file.ts";

interface ImportServices {
  readonly hub: Hub;
  models(): ModelRegistry;
  config(): Config;
}

/** Bytes of a file, and of an attachment in base64. */
const FILE_MAX = 512 * 1024 * 1024;
const BASE64_MAX = 12 * 1024 * 1024;

// fields-ok: a file from elsewhere must meet narrower limits than what svc itself stores
const AttachmentSchema = z.strictObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  media_type: z.enum(MEDIA_TYPES),
  name: z.string().max(255).regex(/^[^/\\]*$/),
  bytes: z.int().min(1).max(2 * IMAGE_BYTES_MAX),
});
const attached = z.array(AttachmentSchema).max(ATTACHED_MAX).optional();

/** What is imported: messages, calls and results. */
const MessageSchema = z.union([
  z.object({ role: z.literal("user"), text: z.string(), attachments: attached }),
  z.object({
    role: z.literal("assistant"),
    text: z.string(),
    // fields-ok: likewise
    calls: z.array(z.object({
      call_id: z.string().min(1).max(200),
      tool: z.string().min(1).max(200),
      args: z.unknown(),
    })),
  }),
  z.object({
    role: z.literal("tool"),
    // fields-ok: likewise
    results: z.array(z.object({
      call_id: z.string().min(1).max(200),
      tool: z.string().min(1).max(200),
      ok: z.boolean(),
      output: z.string(),
      attachments: attached,
    })),
  }),
]);
type Taken = z.infer<typeof MessageSchema>;

/**
 * Creates a session with the conversation of a file from `session.export`. It has the rights of any
 * new session.
 * @throws {SvcError} validation for an incomplete, changed or other file
 */
export async function importSession(
  { hub, models, config }: ImportServices,
  { path, workdir, model = models().defaultId(), title }: ImportParams,
) {
  models().check(model);
  const { header, state } = await checked(path);
  const { messages, attachments } = await conversationIn(path, state);
  const items = itemsOf(messages, header.last_seq);
  const { approval, effort } = config().agent;
  const made = await hub.create({
    workdir,
    model,
    title: title ?? titleOf(header.title),
    approval,
    effort,
    copy: {
      seq: Math.max(header.last_seq, items.length),
      chain: header.head,
      transcript: { items, waiting: [] },
      known: {
        messages_count: messages.filter(({ role }) => role !== "tool").length,
        plan: [],
        facts: {},
        rules: { files: [], skipped: [] },
      },
      attachments: [...attachments.keys()],
      read: (attachment) => attachments.get(attachment),
      forked: { from_session_id: header.session_id, from_seq: header.last_seq },
    },
  });
  const { id: session_id, state: { title: named } } = made;
  return { session_id, workdir: made.state.workdir, title: named, messages: messages.length };
}

function refuse(path: string, problem: string, cause?: unknown): SvcError {
  return new SvcError("validation", `${path}: ${problem}`, {
    hint: "use a file that `svc ctl sessions export --format json` wrote",
    cause,
  });
}

async function* linesOf(path: string): AsyncGenerator<{ part: "records" | "rest"; line: string }> {
  let part: "records" | "rest" = "records";
  for await (const { line } of readLines(path, 0, FILE_MAX)) {
    if (line === '],"attachments":[') part = "rest";
    else yield { part, line: line.endsWith(",") ? line.slice(0, -1) : line };
  }
}

/** Checks the hash chain, and finds records that were taken back. */
async function checked(path: string): Promise<{ header: Header; state: SessionState }> {
  await checkSize(path);
  const hashOf = await hasher();
  const state = emptyState("");
  let header: Header | undefined;
  let head: Anchor = BEGINNING;
  let [records, whole] = [0, false];
  for await (const { part, line } of linesOf(path)) {
    if (header === undefined) {
      header = headerOf(path, line);
      continue;
    }
    if (part === "rest") {
      whole ||= line === "]}";
      continue;
    }
    const event = recordOf(path, line, ++records);
    const begins = records === 1 && event.type === "session.checkpoint";
    if (!begins && event.seq !== head.seq + 1) {
      throw refuse(path, `record ${records} does not follow the one before it`);
    }
    try {
      head = hashOf(head, event, line);
      applyToState(state, event);
    } catch (error) {
      throw refuse(path, `record ${records} cannot be read`, error);
    }
  }
  if (header === undefined || !whole) throw refuse(path, "the file is incomplete");
  if (head.hash !== header.head || head.seq !== header.last_seq || records !== header.count) {
    throw refuse(path, "the records were changed: their hash chain does not end as the file says");
  }
  return { header, state };
}

async function checkSize(path: string): Promise<void> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.lstat(path);
  } catch (error) {
    throw refuse(path, `cannot be read: ${messageOf(error)}`, error);
  }
  if (!info.isFile) throw refuse(path, "is not a regular file");
  if (info.size > FILE_MAX) throw refuse(path, "is larger than 512 MiB");
}

function headerOf(path: string, line: string): Header {
  const begin = ',"records":[';
  try {
    if (!line.endsWith(begin)) throw new Error("no records");
    return headerSchema().parse(JSON.parse(`${line.slice(0, -begin.length)}}`));
  } catch (error) {
    throw refuse(
      path,
      `is not an exported session: its first line has no "format":"${FORMAT}"`,
      error,
    );
  }
}

function recordOf(path: string, line: string, n: number): SessionEvent {
  try {
    return decodeRecord(line);
  } catch (error) {
    throw refuse(path, `record ${n} ${messageOf(error)}`, error);
  }
}

/** Returns the messages with their attachments. */
async function conversationIn(
  path: string,
  { undo }: SessionState,
): Promise<{ messages: Taken[]; attachments: Map<Attachment, Uint8Array<ArrayBuffer>> }> {
  const transcript = new Transcript();
  let messages: Taken[] | undefined;
  const named = new Map<string, Attachment>();
  const attachments = new Map<Attachment, Uint8Array<ArrayBuffer>>();
  const finish = () => {
    const all: Message[] = transcript.messages();
    messages = z.array(MessageSchema).parse(
      // svc tells the model these facts again, about the new session.
      all.filter((it) => it.role !== "user" || !it.notice),
    );
    for (const it of messages.flatMap(attachmentsOf)) named.set(it.hash, it);
  };
  let first = true;
  try {
    for await (const { part, line } of linesOf(path)) {
      if (part === "rest") {
        if (messages === undefined) finish();
        const data = line === "]}" || line.length > BASE64_MAX ? undefined : JSON.parse(line);
        const attachment = named.get(data?.hash);
        if (attachment && typeof data.data === "string") {
          attachments.set(attachment, Uint8Array.fromBase64(data.data));
        }
      } else if (first) first = false;
      else {
        const event = decodeRecord(line);
        // The new session compacts the conversation itself.
        if (event.type === "session.compacted" || isTakenBack(undo, event.seq)) continue;
        transcript.apply(event);
      }
    }
  } catch (error) {
    throw refuse(path, "its conversation cannot be read", error);
  }
  return { messages: messages ?? [], attachments };
}

function attachmentsOf(message: Taken): Attachment[] {
  if (message.role === "user") return message.attachments ?? [];
  if (message.role === "assistant") return [];
  return message.results.flatMap((it) => it.attachments ?? []);
}

/** Returns items for a checkpoint; each call has a result. */
function itemsOf(messages: readonly Taken[], last_seq: number) {
  const seqOf = (n: number) => Math.max(last_seq - messages.length, 0) + n + 1;
  return messages.flatMap((message, n): Item[] => {
    const seq = seqOf(n);
    if (message.role === "user") {
      const { text: user, attachments } = message;
      return [{ user, seq, ...(attachments && { attachments }) }];
    }
    if (message.role === "tool") return [];
    const next = messages[n + 1];
    const given = next?.role === "tool" ? next.results : [];
    const results = message.calls.map(({ call_id, tool }) =>
      given.find((it) => it.call_id === call_id) ??
        { call_id, tool, ok: false, output: "There is no result." }
    );
    const { text, calls } = message;
    return [{ step: { first_seq: seq, text, calls, results } }];
  });
}
