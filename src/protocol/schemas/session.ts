/** Sessions as clients see them. */
import * as z from "zod";
import { APPROVALS } from "../approval.ts";
import type { Attachment } from "../attachments.ts";

/** Id of a session. */
export const session_id = () =>
  z.string().regex(
    /^sess_[0-9A-Z]{26}$/,
    "must have the shape sess_<ULID>",
  );
export const approval = () => z.enum(APPROVALS);
export const trust = () => z.enum(["trusted", "untrusted"]);

export const turnUsageSchema = () =>
  z.object({
    usd: z.number(),
    tokens_in: z.int(),
    tokens_out: z.int(),
    tokens_cached: z.int().describe("The part of tokens_in that the provider read from its cache"),
  });

export const laneSchema = () =>
  z.object({
    lane_id: z.string(),
    kind: z.enum(["main", "tool", "mission_task", "lobe", "router"]),
    status: z.enum(["pending", "running", "blocked", "done", "errored", "cancelled"]),
    label: z.string(),
    started_at: z.string(),
    parent_lane_id: z.string().optional(),
    delta_seq: z.int().describe("delta_seq of the last lane.delta"),
    pinned: z.boolean(),
    cost_usd: z.number(),
    tokens: z.int().optional().describe("Input and output tokens of its model calls"),
  });

export const sessionItemSchema = () =>
  z.object({
    id: session_id(),
    workdir: z.string(),
    model: z.string(),
    title: z.string(),
    works_for: z.string().optional()
      .describe("Id of the mission or task that the session works for"),
    state: z.enum(["running", "paused", "ended", "unreadable"]),
    activity: z.enum(["idle", "working", "awaiting_approval"]),
    started_at: z.string(),
    ended_at: z.string().optional(),
    last_seq: z.int(),
    last_event_at: z.string(),
    approval: approval(),
    trust: trust(),
    budget_usd: z.number().optional(),
    cost_usd: z.number(),
    pinned: z.literal(true).optional(),
    archived: z.literal(true).optional(),
    temporary: z.literal(true).optional()
      .describe("Deleted soon after its last follower leaves"),
    parked_until: z.string().optional()
      .describe("When the parked turn continues by itself; absent if no turn is parked"),
    unpriced: z.literal(true).optional()
      .describe("Some calls have no known price: cost_usd leaves them out"),
    lanes: z.array(laneSchema()),
    pending_approvals_count: z.int().describe(
      "Number of questions that wait; session.get lists them",
    ),
    reason: z.string().optional().describe("Why the session is unreadable"),
  });

export const movedSchema = () =>
  z.object({
    moved: z.boolean().describe("False if it works there already"),
    workdir: z.string(),
    from: z.string().describe("Where it worked before"),
  });

/** How a message reaches a model at work. */
export const delivery = () => z.enum(["steer", "queue"]);

export const queuedMessageSchema = () =>
  z.object({
    message_id: z.string(),
    seq: z.int(),
    delivery: delivery()
      .describe(
        "steer: read at the turn's next step; queue: in a later turn",
      ),
  });

export const withdrawnMessageSchema = () =>
  z.object({
    message_id: z.string(),
    seq: z.int(),
    text: z.string(),
    attachments: z.custom<Attachment[]>().optional(),
  });

export const backgroundItemSchema = () =>
  z.object({
    command_id: z.string(),
    command: z.string().describe("Beginning of the command, on one line"),
    started_at: z.string(),
  });

export const rulesFileSchema = () =>
  z.object({
    path: z.string().describe("Absolute path"),
    bytes: z.int().describe("Size of the file"),
    sha256: z.string().describe("Hash of its content"),
    imported_by: z.string().optional().describe("The file that imports it"),
  });

export const skippedRulesSchema = () =>
  z.object({
    path: z.string().describe("Absolute path"),
    reason: z.string().describe("Why it was left out"),
    imported_by: z.string().optional().describe("The file that imports it"),
  });

export const fileChangeSchema = () =>
  z.object({
    path: z.string().describe("As the call names it"),
    before: z.string().optional()
      .describe("Absent where the file is new, or what it was is not known"),
    after: z.string().describe("Empty, as `before` is, where the file stays as it was"),
    line: z.int().optional()
      .describe("Number of the first line of `before` in the file, where it is a part of it"),
    replaced: z.literal(true).optional()
      .describe("Present where the call replaces a file that is too large or not text"),
    deleted: z.literal(true).optional().describe("Present where the call deletes the file"),
  });

export const pendingApprovalSchema = () =>
  z.object({
    approval_id: z.string(),
    lane_id: z.string().describe("Who asks"),
    call_id: z.string(),
    tool: z.string(),
    args: z.unknown(),
    reason: z.string(),
    rule: z.string(),
    choices: z.array(z.string()).optional()
      .describe("Rules that may be kept with allow_always, the narrowest first"),
    changes: z.array(fileChangeSchema()).optional()
      .describe("What the call changes in files, as they are when it is asked; long ones are cut"),
    kind: z.literal("question").optional()
      .describe("Present for a question from the model; answer it with session.answer"),
    requested_at: z.string(),
  });

/** A conversation with messages of type `M`. */
export const transcriptSchema = <M>() =>
  z.object({
    messages: z.array(z.custom<M>()),
    left_out: z.int().describe("Number of older messages left out"),
    writing: z.string().describe("Text of the answer in progress"),
    seq: z.int(),
  });
