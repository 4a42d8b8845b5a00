import { createHash } from "node:crypto";
import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { Message } from "../../models/model.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import {
  ATTACHED_MAX,
  type Attachment,
  IMAGE_BYTES_MAX,
  MEDIA_TYPES,
} from "../../protocol/attachments.ts";
import type { Hub } from "../../session/hub.ts";
import { decodeRecord } from "../../session/record.ts";
import { titleOf } from "../../session/titles.ts";
import type { Item } from "../../session/transcript_items.ts";
import { Transcript } from "../../session/transcript.ts";
import { isTakenBack } from "../../session/undo_state.ts";
import { type Checked, checked, linesOf, refuse } from "./read.ts";
import type { ImportParams } from "./schemas.ts";
import { requireKnown } from "./signature.ts";

interface ImportServices {
  readonly hub: Hub;
  models(): ModelRegistry;
  config(): Config;
  /** The file of this machine's key. */
  readonly ledger_key: string;
}

/** Characters of an attachment in base64. */
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
 *
 * @param by_model whether a model asks for it
 * @throws {SvcError} validation for an incomplete, changed or other file; permission_denied if a
 * person must confirm who signed it
 */
export async function importSession(
  { hub, models, config, ledger_key }: ImportServices,
  params: ImportParams,
  by_model: boolean,
) {
  const { path, workdir, model = models().defaultId(), title } = params;
  models().check(model);
  const file = await checked(path);
  const { header } = file;
  const signed_by = await requireKnown(file.key, ledger_key, params, by_model);
  const { messages, attachments } = await conversationIn(path, file);
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
  return {
    session_id,
    workdir: made.state.workdir,
    title: named,
    messages: messages.length,
    signed_by,
  };
}

/** Returns the messages with their attachments. */
async function conversationIn(
  path: string,
  { state: { undo }, sha256 }: Checked,
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
  let read = "";
  try {
    for await (const { part, line } of linesOf(path, (ending) => read = ending.sha256)) {
      if (part === "attachments") {
        if (messages === undefined) finish();
        const data = line.length > BASE64_MAX ? undefined : JSON.parse(line);
        const attachment = named.get(data?.hash);
        if (attachment && typeof data.data === "string") {
          attachments.set(attachment, contentOf(attachment, data.data));
        }
      } else if (part === "records") {
        const event = decodeRecord(line);
        // The new session compacts the conversation itself.
        if (event.type === "session.compacted" || isTakenBack(undo, event.seq)) continue;
        transcript.apply(event);
      }
    }
    if (messages === undefined) finish();
  } catch (error) {
    throw refuse(path, "its conversation cannot be read", error);
  }
  if (read !== sha256) throw refuse(path, "it was changed while svc read it");
  return { messages: messages ?? [], attachments };
}

/** @throws {Error} for other content than the record names */
function contentOf({ hash }: Attachment, base64: string): Uint8Array<ArrayBuffer> {
  const data = Uint8Array.fromBase64(base64);
  if (createHash("sha256").update(data).digest("hex") === hash) return data;
  throw new Error("an attachment was changed");
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
