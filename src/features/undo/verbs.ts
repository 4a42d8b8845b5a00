import * as z from "zod";
import type { Hub } from "../../session/hub.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Undo } from "./undo.ts";
import { changedTextSchema, changesSchema } from "../../protocol/schemas/changes.ts";
import { rewindResultSchema } from "../../protocol/schemas/rewind.ts";
import { forkedSchema } from "./schemas.ts";

interface UndoServices {
  readonly hub: Hub;
  /** Loaded on first use. */
  undo(): Promise<Undo>;
}

const defineVerb = verbsOf<UndoServices>();

const force = () =>
  z.union([z.boolean(), z.array(z.string().min(1)).max(1_000)]).default(false).describe(
    "Overwrite what somebody else changed since: all of it, or only the named files, which keeps " +
      "the others; undo brings it back",
  );

export const undoVerbs = [
  defineVerb({
    name: "session.changes",
    summary: "Shows what the turns of a session changed in its directory, commands included.",
    access: "read",
    rest: { method: "GET", path: "/v1/sessions/:session_id/changes", status: 200 },
    input: () =>
      z.object({
        session_id: session_id(),
        turn_id: z.string().min(1).optional()
          .describe("Only this turn; by default, all that was not undone"),
        full: z.boolean().default(false).describe(
          "Return up to 4 MiB of the patch instead of 64 KiB",
        ),
      }),
    output: changesSchema,
    async handle({ services, signal }, { session_id, turn_id, full }) {
      const { changesOf } = await import("./changes.ts");
      const session = await services.hub.get(session_id);
      return await changesOf(await services.undo(), session, { turn_id, full, signal });
    },
  }),
  defineVerb({
    name: "session.changed_file",
    summary: "Shows what the turns of a session changed in one file, with its text.",
    access: "read",
    large: true,
    input: () =>
      z.object({
        session_id: session_id(),
        path: z.string().min(1).describe("As session.changes names it"),
        renamed_from: z.string().min(1).optional().describe("As session.changes names it"),
        turn_id: z.string().min(1).optional()
          .describe("Only this turn; by default, all that was not undone"),
      }),
    output: changedTextSchema,
    async handle({ services, signal }, { session_id, ...options }) {
      const { changedTextOf } = await import("./changes.ts");
      const session = await services.hub.get(session_id);
      return await changedTextOf(await services.undo(), session, { ...options, signal });
    },
  }),
  defineVerb({
    name: "session.rewind",
    summary:
      "Brings a session's files, conversation or both back to what they were before a message.",
    access: "write",
    destructive: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/rewind", status: 200 },
    input: () =>
      z.object({
        session_id: session_id(),
        message_id: z.string().min(1).optional().describe(
          "The message; by default, the last one with changes of files that were not undone, " +
            "or for the conversation the last one",
        ),
        turn_id: z.string().min(1).optional().describe(
          "Instead: the turn that the message started",
        ),
        what: z.enum(["files", "conversation", "both"]).default("files"),
        force: force(),
        dry_run: z.boolean().default(false).describe("Change nothing, only say what would change"),
        undo: z.boolean().default(false).describe("Undo the last rewind instead"),
      }),
    output: rewindResultSchema,
    async handle({ services, caller }, { session_id, ...options }) {
      const session = await services.hub.get(session_id);
      const undo = await services.undo();
      return await undo.rewind(session, { ...options, by: caller.via });
    },
  }),
  defineVerb({
    name: "session.undo_file",
    summary: "Brings one file, or the files that one turn changed, back to before that turn.",
    access: "write",
    destructive: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/undo_file", status: 200 },
    input: () =>
      z.object({
        session_id: session_id(),
        path: z.string().min(1).optional().describe(
          "The file, relative to the session's directory; by default, all that the turn changed",
        ),
        turn_id: z.string().min(1).optional().describe(
          "The turn; by default, the last one that changed the file and was not undone",
        ),
        message_id: z.string().min(1).optional().describe(
          "Instead: the message that started the turn",
        ),
        force: force(),
        dry_run: z.boolean().default(false).describe("Change nothing, only say what would change"),
      }),
    output: rewindResultSchema,
    async handle({ services, caller }, { session_id, ...options }) {
      const session = await services.hub.get(session_id);
      const undo = await services.undo();
      return await undo.undoFile(session, { ...options, by: caller.via });
    },
  }),
  defineVerb({
    name: "session.fork",
    summary: "Starts a session with a copy of another one's conversation.",
    access: "write",
    rest: {
      method: "POST",
      path: "/v1/sessions/:session_id/fork",
      status: 201,
      location: ({ session_id }) => `/v1/sessions/${session_id}`,
    },
    input: () =>
      z.object({
        session_id: session_id(),
        message_id: z.string().min(1).optional()
          .describe("Copy what was said before this message; by default, all of it"),
        title: z.string().min(1).max(200).optional(),
        worktree: z.boolean().default(false).describe(
          "Work in a new git worktree, with the files as they were before the message; by default, " +
            "the new session works in the same directory",
        ),
      }),
    output: forkedSchema,
    async handle({ services, signal }, { session_id, worktree, ...options }) {
      const { forkSession } = await import("./fork.ts");
      const session = await services.hub.get(session_id);
      const undo = worktree ? await services.undo() : undefined;
      return await forkSession(services.hub, session, {
        ...options,
        worktree: undo &&
          ((before_seq, create) => undo.forkIntoWorktree(session, before_seq, { create, signal })),
      });
    },
  }),
];
