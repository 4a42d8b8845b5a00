import * as z from "zod";
import { hash } from "../../protocol/schemas/ledger.ts";
import {
  addDirectorySchema,
  addedDirectorySchema,
} from "../../protocol/schemas/added_directory.ts";
import { EFFORTS } from "../../protocol/effort.ts";
import { NETWORKS } from "../../protocol/network.ts";
import {
  approval,
  session_id,
  trust,
  withdrawnMessageSchema,
} from "../../protocol/schemas/session.ts";
import { scope } from "../permissions/schemas.ts";

export const lane_id = () => z.string().min(1);
export const effort = () => z.enum(EFFORTS);
export const title = () => z.string().min(1).max(200);
export const budget = () => z.number().positive();

/** Checked by `attach.ts`, which is not loaded at the start. */
export const attachedSchema = () =>
  z.strictObject({
    path: z.string().optional()
      .describe("A file that the session's tools can read; not for untrusted sessions"),
    data: z.string().optional().describe("The content in base64, instead of a path"),
    media_type: z.string().optional().describe("With data; must fit the content"),
    name: z.string().optional().describe("With data; a file name to show"),
  });

export const startParamsSchema = () =>
  z.object({
    workdir: z.string().optional().describe("Absolute path of the working directory"),
    prompt: z.string().min(1).optional().describe("First message"),
    model: z.string().optional().describe("<provider>/<model>"),
    provider: z.string().optional()
      .describe("Provider of the model; alone, its default model"),
    skill_pack: z.string().optional().describe("A skill that the model is told at once"),
    budget_usd: budget().optional(),
    approval: approval().optional(),
    effort: effort().optional().describe("How long the model may think before it answers"),
    trust: trust().optional()
      .describe("untrusted: only tools of untrusted tool servers"),
    title: title().optional(),
    add_dirs: z.array(addDirectorySchema()).optional()
      .describe("More directories for its tools; not if untrusted"),
    network: z.enum(NETWORKS).optional()
      .describe("What its commands reach; not if untrusted"),
    temporary: z.boolean().optional()
      .describe("Delete it once nobody follows it"),
  });

export const withdrawnSchema = () =>
  z.object({
    messages: z.array(withdrawnMessageSchema())
      .describe("What was taken back, the oldest first; a turn may have begun with the others"),
  });

export const decidedSchema = () =>
  z.object({
    session_id: session_id(),
    approval_id: z.string(),
    decision: z.enum(["allow", "allow_always", "deny"]),
    shown: z.string().regex(/^[0-9a-f]{64}$/).optional().describe(
      "SHA-256 of the JSON [tool, args, reason, rule] that was shown to the person; " +
        "the call is refused if the request differs",
    ),
    message: z.string().trim().min(1).max(10_000).optional()
      .describe("With deny: what the model is told"),
    always: z.object({
      rule: z.string().describe("One of the choices of the approval"),
      scope: scope(),
    }).optional().describe("With allow_always: the rule to keep, and where it holds"),
  });

export const historySchema = () =>
  z.object({
    session_id: session_id(),
    since_seq: z.int().min(0).default(0)
      .describe("The last seq the client has; 0 starts with the oldest event kept"),
    from_last: z.int().min(1).optional()
      .describe("Start with the last so many messages of the person instead"),
    limit: z.int().min(1).max(20_000).default(1_000),
    deltas: z.enum(["session", "lane", "both"]).default("both")
      .describe("Form in which the main lane's text is sent"),
  });

export const journalSchema = () =>
  z.object({
    session_id: session_id(),
    since_seq: z.int().min(0).optional()
      .describe("The last seq the client has; by default, the last records are returned"),
    limit: z.int().min(1).max(2_000).default(200),
  });

export const pageSchema = () =>
  z.object({
    session_id: session_id(),
    last: z.int().min(1).optional().describe(
      "Maximum number of messages to return, newest first",
    ),
    skip: z.int().min(0).default(0).describe(
      "Number of the newest messages to leave out, for the page before them",
    ),
  });

export const pendingFileSchema = () =>
  z.object({
    path: z.string().describe("As the call names it"),
    state: z.enum(["missing", "text", "unreadable"]),
    content: z.string().optional().describe("Present for a text file"),
    reason: z.string().optional().describe("Why the content cannot be shown"),
  });

export const laneSubscriptionSchema = () =>
  z.object({
    session_id: session_id(),
    lane_id: lane_id().optional(),
    since_seq: z.int().min(0).optional(),
  });

export const changedEffort = () => z.enum([...EFFORTS, "default"]);

export const changedNetwork = () => z.enum([...NETWORKS, "default"]);

/** Missing settings stay. */
export const configureSchema = () =>
  z.object({
    session_id: session_id(),
    model: z.string().optional().describe("<provider>/<model>, from the next model call on"),
    approval: approval().optional().describe("For calls that have not begun"),
    effort: changedEffort().optional()
      .describe("How long the model may think, from the next turn on"),
    budget_usd: budget().optional(),
    title: title().optional(),
    pinned: z.boolean().optional().describe("Lists show the session first"),
    archived: z.boolean().optional()
      .describe("Lists leave the session out until it gets another message"),
    add_dirs: z.array(addDirectorySchema()).optional()
      .describe("Directories to add, or to give another access, for calls that have not begun"),
    remove_dirs: z.array(z.string().min(1)).optional().describe("Added directories to remove"),
    network: changedNetwork().optional()
      .describe("What commands reach that have not begun; default: what daemon.toml says"),
  });

export const configuredSchema = () =>
  z.object({
    changed: z.boolean().describe("False if nothing changed"),
    model: z.string(),
    approval: approval(),
    effort: changedEffort(),
    budget_usd: z.number().optional(),
    title: z.string(),
    pinned: z.boolean(),
    archived: z.boolean(),
    added_dirs: z.array(addedDirectorySchema()),
    network: changedNetwork(),
  });

export const sessionSubscriptionSchema = () =>
  z.object({
    session_id: session_id(),
    since_seq: z.int().min(0).optional()
      .describe("The last seq the client has; by default, only new events are sent"),
    deltas: z.enum(["session", "lane", "both"]).optional(),
  });

export const laneDeltaSchema = () =>
  z.object({
    seq: z.int(),
    delta_seq: z.int(),
    text: z.string(),
    redraws: z.int().optional()
      .describe("The text takes the place of so many lines at the end of what came before"),
    looks: z.array(z.int()).optional(),
  });

export const ledgerItemSchema = () => z.object({ hash: hash(), type: z.string(), at: z.string() });
