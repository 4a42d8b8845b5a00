import * as z from "zod";
import { realPathOrSame } from "../../os/files.ts";
import { session_id } from "../../verbs/session_id.ts";
import { spentBudget } from "../../agent/budget.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Message } from "../../models/model.ts";
import { mayBeModel, Prepared, verbsOf } from "../../verbs/define.ts";
import type { Caller } from "../../verbs/verb.ts";
import type { SessionItem } from "../../session/session_item.ts";
import type { Hub } from "../../session/hub.ts";
import type { UnitPool } from "../../jail/unit/pool.ts";
import type { Session } from "../../session/session.ts";
import type { Config } from "../../config/config.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { Library } from "../skills/library.ts";
import type { Permissions } from "../permissions/open.ts";
import type { LastAsked } from "./conversation.ts";
import {
  backgroundItemSchema,
  delivery,
  movedSchema,
  pendingApprovalSchema,
  queuedMessageSchema,
  rulesFileSchema,
  sessionItemSchema,
  skippedRulesSchema,
  transcriptSchema,
} from "../../protocol/schemas/session.ts";
import { addedDirectorySchema } from "../../protocol/schemas/added_directory.ts";
import {
  attachedSchema,
  changedEffort,
  changedNetwork,
  configuredSchema,
  configureSchema,
  decidedSchema,
  pageSchema,
  pendingFileSchema,
  sessionSubscriptionSchema,
  startParamsSchema,
  withdrawnSchema,
} from "./schemas.ts";

export interface SessionServices {
  readonly hub: Hub;
  readonly asked: LastAsked;
  models(): ModelRegistry;
  config(): Config;
  units(): Promise<UnitPool>;
  /** The home of svc, and the person's own, both real paths. */
  readonly home: string;
  readonly person_home: string | undefined;
  /** Paths that the session's tools must not see. */
  hidden(session: Session): string[];
  permissions(): Promise<Permissions>;
  library(): Promise<Library>;
}

const defineVerb = verbsOf<SessionServices>();

const timestamp = () => z.iso.datetime();

const rules = () =>
  z.object({
    files: z.array(rulesFileSchema()).describe("The files that the model received"),
    skipped: z.array(skippedRulesSchema()).describe("The files that were left out"),
  }).describe("The project rules of the session");

/** Answers to session.list, keyed by the array of sessions. */
const prepared = new WeakMap<readonly SessionItem[], Prepared<{ sessions: SessionItem[] }>>();

async function sessionsIn(
  hub: Hub,
  directory: string,
  { include_ended = false, include_archived = false },
): Promise<{ sessions: SessionItem[] }> {
  const real = await realPathOrSame(directory);
  await hub.lookIn(real);
  const sessions = (await hub.list(include_ended)).filter(({ workdir, archived }) =>
    workdir === real && (include_archived || !archived)
  );
  return { sessions };
}

/** What of the list has changed since an earlier answer. */
async function listSince(
  hub: Hub,
  since: string,
  { include_ended = false, include_archived = false },
) {
  const { changed, gone, ...answer } = await hub.listChanges(include_ended, since);
  const hidden = changed.filter(({ archived }) => archived && !include_archived);
  return {
    ...answer,
    sessions: hidden.length === 0 ? changed : changed.filter((it) => !hidden.includes(it)),
    gone: answer.whole ? [] : [...gone, ...hidden.map(({ id }) => id)],
  };
}

/** @throws {SvcError} permission_denied for a client that may be a model */
function requirePerson(caller: Caller, does: string): void {
  if (!mayBeModel(caller)) return;
  throw new SvcError("permission_denied", `only a person ${does}`, {
    hint: "the person can use /add-dir and /network in `svc chat`, or `svc ctl sessions configure`",
  });
}

export const sessionVerbs = [
  defineVerb({
    name: "session.start",
    summary: "Starts a session in a directory.",
    access: "write",
    rest: {
      method: "POST",
      path: "/v1/sessions",
      status: 201,
      required: ["workdir"],
      location: ({ session_id }) => `/v1/sessions/${session_id}`,
    },
    input: startParamsSchema,
    output: () =>
      z.object({ session_id: session_id(), workdir: z.string(), started_at: timestamp() }),
    async handle({ services, caller }, params) {
      if (params.add_dirs !== undefined) requirePerson(caller, "adds directories to a session");
      if (params.network !== undefined) requirePerson(caller, "chooses a session's network");
      return await (await import("./start.ts")).startSession(services, params);
    },
  }),
  defineVerb({
    name: "session.list",
    summary: "Lists the sessions.",
    access: "read",
    rest: { method: "GET", path: "/v1/sessions", status: 200 },
    input: () =>
      z.object({
        include_ended: z.boolean().optional(),
        include_archived: z.boolean().optional(),
        workdir: z.string().optional().describe(
          "Only sessions in this directory, also those that it had under another path",
        ),
        since: z.string().optional().describe(
          "Tag of an earlier answer: returns what has changed; empty for all",
        ),
      }),
    output: () =>
      z.object({
        sessions: z.array(sessionItemSchema()),
        tag: z.string().optional().describe("Present with since: names this answer"),
        gone: z.array(z.string()).optional()
          .describe("Present with since: ids of sessions that are no longer listed"),
        whole: z.boolean().optional().describe(
          "Present with since: all sessions are returned, because the earlier answer is unknown",
        ),
      }),
    handle({ services: { hub } }, { workdir, since, ...params }) {
      if (workdir !== undefined) return sessionsIn(hub, workdir, params);
      if (since !== undefined) return listSince(hub, since, params);
      const { include_ended = false, include_archived = false } = params;
      const prepare = (found: readonly SessionItem[]) => {
        const leaves_out = !include_archived && found.some(({ archived }) => archived);
        if (leaves_out) return { sessions: found.filter(({ archived }) => !archived) };
        const sessions = found as SessionItem[];
        let answer = prepared.get(sessions);
        if (answer === undefined) prepared.set(sessions, answer = new Prepared({ sessions }));
        return answer;
      };
      const found = hub.list(include_ended);
      return found instanceof Promise ? found.then(prepare) : prepare(found);
    },
  }),
  defineVerb({
    name: "session.get",
    summary: "Shows one session.",
    access: "read",
    rest: { method: "GET", path: "/v1/sessions/:session_id", status: 200 },
    input: () => z.object({ session_id: session_id() }),
    output: () =>
      sessionItemSchema().extend({
        effort: changedEffort(),
        added_dirs: z.array(addedDirectorySchema())
          .describe("Directories besides workdir that its tools and commands may use"),
        network: changedNetwork().describe("What its commands reach"),
        tokens_in: z.int(),
        tokens_out: z.int(),
        tokens_cached: z.int(),
        messages_count: z.int(),
        context: z.object({ used: z.int(), limit: z.int() }).optional()
          .describe("Tokens of the conversation and their limit, after the first answer"),
        cut_off: z.boolean().describe("Whether session.continue can continue the last turn"),
        parked_reason: z.string().optional().describe("What the provider said, if it is parked"),
        queued: z.array(queuedMessageSchema())
          .describe("Messages that session.withdraw can take back"),
        pending_approvals: z.array(pendingApprovalSchema()),
        plan: z.array(z.object({ step: z.string(), state: z.enum(["pending", "doing", "done"]) }))
          .describe("What the model says it will do"),
        background: z.array(backgroundItemSchema()).describe("Commands that run in the background"),
        rules: rules(),
      }),
    async handle({ services }, { session_id }) {
      return await (await import("./conversation.ts")).details(services, session_id);
    },
  }),
  defineVerb({
    name: "session.configure",
    summary:
      "Changes a session's settings: model, approval mode, effort, budget, title, place in lists, " +
      "added directories, network.",
    access: "write",
    idempotent: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/configure", status: 200 },
    input: configureSchema,
    output: configuredSchema,
    async handle({ services, caller }, params) {
      const directories = params.add_dirs ?? params.remove_dirs;
      if (directories !== undefined) requirePerson(caller, "adds directories to a session");
      if (params.network !== undefined) requirePerson(caller, "chooses a session's network");
      const { configureSession } = await import("./configure.ts");
      return await configureSession(services, params, caller.via);
    },
  }),
  defineVerb({
    name: "session.move",
    summary: "Has a session work in another directory, or in its own after it was renamed.",
    access: "write",
    idempotent: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/move", status: 200 },
    input: () =>
      z.object({
        session_id: session_id(),
        workdir: z.string().describe("Absolute path of the directory from now on"),
      }),
    output: movedSchema,
    async handle({ services, caller }, { session_id, workdir }) {
      return await services.hub.move(session_id, workdir, caller.via);
    },
  }),
  defineVerb({
    name: "session.send",
    summary: "Sends a message: starts a turn, steers the running one, or waits for its own turn.",
    access: "write",
    rest: { method: "POST", path: "/v1/sessions/:session_id/messages", status: 202 },
    input: () =>
      z.object({
        session_id: session_id(),
        text: z.string().min(1),
        client_message_id: z.string().min(1).max(128).optional()
          .describe("Sending the same id again sends nothing and returns the same answer"),
        delivery: delivery().default("steer")
          .describe(
            "While a turn runs: whether it steers that one, or waits for a turn of its own",
          ),
        attachments: z.array(attachedSchema()).optional()
          .describe("PNG, JPEG, GIF and WebP images and PDF documents for the model"),
        run: z.boolean().default(false)
          .describe("Only for persons: run text as a shell command in the sandbox"),
        max_steps: z.int().positive().optional().describe("Model calls of the turn it starts"),
        max_usd: z.number().positive().optional().describe("Cost of that turn"),
      }),
    output: () => z.object({ message_id: z.string(), seq: z.int() }),
    async handle(context, params) {
      return await (await import("./send.ts")).sendMessage(context, params);
    },
  }),
  defineVerb({
    name: "session.withdraw",
    summary: "Takes back queued messages: those that no model call has seen.",
    access: "write",
    idempotent: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/withdraw", status: 200 },
    input: () =>
      z.object({
        session_id: session_id(),
        message_ids: z.array(z.string()).optional().describe(
          "Only these messages; by default all that are queued",
        ),
      }),
    output: withdrawnSchema,
    async handle({ services, caller }, { session_id, message_ids }) {
      const session = await services.hub.get(session_id);
      const { withdraw } = await import("./withdraw.ts");
      return await withdraw(session, caller.via, message_ids);
    },
  }),
  defineVerb({
    name: "session.redeliver",
    summary:
      "Changes how a waiting message reaches the model: in the running turn, or in its own turn.",
    access: "write",
    idempotent: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/redeliver", status: 200 },
    input: () =>
      z.object({
        session_id: session_id(),
        message_id: z.string().describe("A message that session.get lists as queued"),
        delivery: delivery().describe(
          "steer: the running turn's next step reads it, or it begins a turn at once; " +
            "queue: it waits for a turn of its own",
        ),
      }),
    output: () =>
      z.object({
        changed: z.boolean()
          .describe("False if it waits in that way already, or the model has read it"),
      }),
    async handle({ services, caller }, { session_id, ...message }) {
      const session = await services.hub.get(session_id);
      const { redeliver } = await import("./withdraw.ts");
      return await redeliver(session, caller.via, message);
    },
  }),
  defineVerb({
    name: "session.attachment",
    summary: "Returns the content of an image or document of a session.",
    access: "read",
    large: true,
    input: () =>
      z.object({
        session_id: session_id(),
        hash: z.string().regex(/^[0-9a-f]{64}$/).describe("As the event or message has it"),
      }),
    output: () =>
      z.object({
        media_type: z.string(),
        bytes: z.int(),
        data: z.string().describe("The content in base64"),
      }),
    async handle({ services }, { session_id, hash }) {
      const { readAttachment } = await import("./attach.ts");
      return await readAttachment(await services.hub.get(session_id), hash);
    },
  }),
  defineVerb({
    name: "session.cancel",
    summary: "Cancels the running turn.",
    access: "write",
    idempotent: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/cancel", status: 200 },
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ cancelled: z.boolean() }),
    async handle({ services }, { session_id }) {
      return { cancelled: await (await services.hub.get(session_id)).cancel() };
    },
  }),
  defineVerb({
    name: "session.compact",
    summary: "Shortens the conversation that the model is given. The journal keeps all of it.",
    access: "write",
    rest: { method: "POST", path: "/v1/sessions/:session_id/compact", status: 200 },
    input: () => z.object({ session_id: session_id() }),
    output: () =>
      z.object({
        compacted: z.boolean().describe("False when there was nothing worth leaving out"),
        tokens_before: z.int().optional(),
        tokens_after: z.int().optional(),
      }),
    async handle({ services }, { session_id }) {
      return await (await import("./conversation.ts")).compact(services, session_id);
    },
  }),
  defineVerb({
    name: "session.pause",
    summary: "Pauses a session at the next safe point.",
    access: "write",
    rest: { method: "POST", path: "/v1/sessions/:session_id/pause", status: 200 },
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ paused_at: timestamp() }),
    async handle({ services }, { session_id }) {
      return { paused_at: await (await services.hub.get(session_id)).pause("operator") };
    },
  }),
  defineVerb({
    name: "session.resume",
    summary: "Resumes a paused session.",
    access: "write",
    rest: { method: "POST", path: "/v1/sessions/:session_id/resume", status: 200 },
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ resumed_at: timestamp() }),
    async handle({ services }, { session_id }) {
      return { resumed_at: await (await services.hub.get(session_id)).resume("operator") };
    },
  }),
  defineVerb({
    name: "session.continue",
    summary: "Continues a turn that a restart, a crash or a pause cut off, or that is parked.",
    access: "write",
    rest: { method: "POST", path: "/v1/sessions/:session_id/continue", status: 200 },
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({ turn_id: z.string() }),
    async handle({ services }, { session_id }) {
      const session = await services.hub.get(session_id);
      const spent = spentBudget(session.state, services.config().agent.budget_usd);
      if (spent !== undefined) throw new SvcError("budget_exceeded", spent);
      return { turn_id: await session.continueTurn() };
    },
  }),
  defineVerb({
    name: "session.kill",
    summary: "Ends a session permanently.",
    access: "write",
    destructive: true,
    idempotent: true,
    rest: { method: "DELETE", path: "/v1/sessions/:session_id", status: 204 },
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({}),
    async handle({ services }, { session_id }) {
      await services.hub.kill(session_id);
      return {};
    },
  }),
  defineVerb({
    name: "session.delete",
    summary: "Deletes a session and everything svc stores about it.",
    access: "write",
    destructive: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/delete", status: 204 },
    input: () => z.object({ session_id: session_id() }),
    output: () => z.object({}),
    async handle({ services }, { session_id }) {
      await services.hub.delete(session_id);
      return {};
    },
  }),
  defineVerb({
    name: "session.approve",
    summary: "Decides a pending approval.",
    access: "write",
    rest: {
      method: "POST",
      path: "/v1/sessions/:session_id/approvals/:approval_id",
      status: 200,
    },
    input: decidedSchema,
    output: () => z.object({ approval_id: z.string(), decision: z.string() }),
    async handle({ services, caller }, params) {
      const { session_id, approval_id, decision, shown, always, message } = params;
      const { approvals } = await services.hub.get(session_id);
      if (mayBeModel(caller) && decision !== "deny") {
        const { requirePerson } = await import("./approve.ts");
        await requirePerson(approvals, approval_id, shown);
      }
      if (always === undefined) {
        await approvals.decide(approval_id, decision, caller.via, { shown, message });
      } else await (await import("./approve.ts")).approveAlways(services, params, caller.via);
      return { approval_id, decision };
    },
  }),
  defineVerb({
    name: "approvals.files",
    summary: "Shows the present content of the files that a pending call would change.",
    access: "read",
    large: true,
    input: () => z.object({ session_id: session_id(), approval_id: z.string() }),
    output: () =>
      z.object({
        files: z.array(pendingFileSchema()).describe(
          "Excludes files that are hidden from the session's tools",
        ),
      }),
    async handle({ services }, { session_id, approval_id }) {
      const session = await services.hub.get(session_id);
      const { pendingFiles } = await import("./pending_files.ts");
      return { files: pendingFiles(session.state, approval_id, services.hidden(session)) };
    },
  }),
  defineVerb({
    name: "session.transcript",
    summary:
      "Returns the conversation of a session: the last 4 million characters, or a page before.",
    access: "read",
    large: true,
    input: pageSchema,
    output: () => transcriptSchema<Message>(),
    async handle({ services }, params) {
      return await (await import("./conversation.ts")).transcript(services, params);
    },
  }),
  defineVerb({
    name: "session.subscribe",
    summary: "Streams a session's events as $/event notifications, replayed events first.",
    access: "read",
    input: sessionSubscriptionSchema,
    output: () => z.object({ sub: z.int(), current_seq: z.int() }),
    async handle({ services, caller }, params) {
      return await (await import("./conversation.ts")).subscribe(services, params, caller);
    },
  }),
  defineVerb({
    name: "session.unsubscribe",
    summary: "Ends a subscription of this connection.",
    access: "read",
    input: () => z.object({ sub: z.int() }),
    output: () => z.object({}),
    handle({ caller }, { sub }) {
      if (!caller.push?.close(sub)) {
        throw new SvcError("not_found", `this connection has no subscription ${sub}`);
      }
      return {};
    },
  }),
];
