import * as z from "zod";
import { session_id } from "../../verbs/session_id.ts";
import { spentBudget } from "../../agent/budget.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Message } from "../../models/model.ts";
import { Prepared, pushChannel, verbsOf } from "../../verbs/define.ts";
import type { SessionItem } from "../../session/session_item.ts";
import type { Hub } from "../../session/hub.ts";
import type { Config } from "../../config/config.ts";
import type { ModelRegistry } from "../../models/registry.ts";

/** The services of the verbs of sessions. */
export interface SessionServices {
  readonly hub: Hub;
  models(): ModelRegistry;
  config(): Config;
}

const defineVerb = verbsOf<SessionServices>();

const approval = () => z.enum(["auto", "ask", "read_only"]);
const trust = () => z.enum(["trusted", "untrusted"]);
const timestamp = () => z.iso.datetime();
const title = () => z.string().min(1).max(200);
const budget = () => z.number().positive();

export const lane = () =>
  z.object({
    lane_id: z.string(),
    kind: z.enum(["main", "tool", "mission_task", "lobe", "router"]),
    status: z.enum(["pending", "running", "blocked", "done", "errored", "cancelled"]),
    label: z.string(),
    started_at: z.string(),
    parent_lane_id: z.string().optional(),
    delta_seq: z.int(),
    pinned: z.boolean(),
    cost_usd: z.number(),
  });

const item = () =>
  z.object({
    id: session_id(),
    workdir: z.string(),
    model: z.string(),
    title: z.string(),
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
    lanes: z.array(lane()),
    pending_approvals_count: z.int(),
    reason: z.string().optional(),
  });

const pending = () =>
  z.object({
    approval_id: z.string(),
    call_id: z.string(),
    tool: z.string(),
    args: z.unknown(),
    reason: z.string(),
    rule: z.string(),
    requested_at: z.string(),
  });

const rules = () =>
  z.object({
    files: z.array(z.object({
      path: z.string().describe("Absolute path"),
      bytes: z.int().describe("Size of the file"),
      sha256: z.string().describe("Hash of its content"),
      imported_by: z.string().optional().describe("The file that imports it"),
    })).describe("The files that the model was given"),
    skipped: z.array(z.object({
      path: z.string().describe("Absolute path"),
      reason: z.string().describe("Why it was left out"),
      imported_by: z.string().optional().describe("The file that imports it"),
    })).describe("The files that were left out"),
  }).describe("The project rules of the session");

/** Answers to session.list, keyed by the array that they were made from. */
const prepared = new WeakMap<readonly SessionItem[], Prepared<{ sessions: SessionItem[] }>>();

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
    input: () =>
      z.object({
        workdir: z.string().optional().describe("Absolute path of the working directory"),
        prompt: z.string().min(1).optional().describe("First message"),
        model: z.string().optional().describe("<provider>/<model>"),
        provider: z.string().optional()
          .describe("Provider of the model; without model, the provider's default model is used"),
        skill_pack: z.string().optional(),
        budget_usd: budget().optional(),
        approval: approval().optional(),
        trust: trust().optional()
          .describe("An untrusted session can use only the tools of untrusted tool servers"),
        title: title().optional(),
      }),
    output: () =>
      z.object({ session_id: session_id(), workdir: z.string(), started_at: timestamp() }),
    async handle({ services }, params) {
      return await (await import("./start.ts")).startSession(services, params);
    },
  }),
  defineVerb({
    name: "session.list",
    summary: "Lists the sessions.",
    access: "read",
    rest: { method: "GET", path: "/v1/sessions", status: 200 },
    input: () => z.object({ include_ended: z.boolean().optional() }),
    output: () => z.object({ sessions: z.array(item()) }),
    handle({ services }, { include_ended = false }) {
      const prepare = (found: readonly SessionItem[]) => {
        const sessions = found as SessionItem[];
        let answer = prepared.get(sessions);
        if (answer === undefined) prepared.set(sessions, answer = new Prepared({ sessions }));
        return answer;
      };
      const found = services.hub.list(include_ended);
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
      item().extend({
        tokens_in: z.int(),
        tokens_out: z.int(),
        tokens_cached: z.int(),
        messages_count: z.int(),
        context: z.object({ used: z.int(), limit: z.int() }).optional()
          .describe("Tokens of the conversation and their limit, after the first answer"),
        pending_approvals: z.array(pending()),
        plan: z.array(z.object({ step: z.string(), state: z.enum(["pending", "doing", "done"]) }))
          .describe("What the model says it will do"),
        rules: rules(),
      }),
    async handle({ services }, { session_id }) {
      const session = await services.hub.get(session_id);
      const { state } = session;
      const { tokens_in, tokens_out, tokens_cached, messages_count, pending_approvals, rules } =
        state;
      return {
        ...services.hub.item(session),
        tokens_in,
        tokens_out,
        tokens_cached,
        messages_count,
        context: state.context,
        pending_approvals,
        plan: state.plan,
        rules,
      };
    },
  }),
  defineVerb({
    name: "session.configure",
    summary: "Changes a session's model, approval mode, budget or title.",
    access: "write",
    idempotent: true,
    rest: { method: "POST", path: "/v1/sessions/:session_id/configure", status: 200 },
    input: () =>
      z.object({
        session_id: session_id(),
        model: z.string().optional().describe("<provider>/<model>, from the next model call on"),
        approval: approval().optional().describe("For calls that have not begun"),
        budget_usd: budget().optional(),
        title: title().optional(),
      }),
    output: () =>
      z.object({
        changed: z.boolean().describe("False when all of it was so before"),
        model: z.string(),
        approval: approval(),
        budget_usd: z.number().optional(),
        title: z.string(),
      }),
    async handle({ services, caller }, params) {
      const { configureSession } = await import("./configure.ts");
      return await configureSession(services, params, caller.via);
    },
  }),
  defineVerb({
    name: "session.send",
    summary: "Sends a message: starts a turn, or steers the running one.",
    access: "write",
    rest: { method: "POST", path: "/v1/sessions/:session_id/messages", status: 202 },
    input: () =>
      z.object({
        session_id: session_id(),
        text: z.string().min(1),
        client_message_id: z.string().min(1).max(128).optional()
          .describe("Sending the same id again sends nothing and returns the same answer"),
        max_steps: z.int().positive().optional().describe("Model calls of the turn it starts"),
        max_usd: z.number().positive().optional().describe("Cost of that turn"),
      }),
    output: () => z.object({ message_id: z.string(), seq: z.int() }),
    async handle({ services }, { session_id, text, ...more }) {
      const session = await services.hub.get(session_id);
      const { client_message_id } = more;
      const known = client_message_id !== undefined && session.state.sent.has(client_message_id);
      const spent = spentBudget(session.state, services.config().agent.budget_usd);
      if (spent !== undefined && !known) {
        throw new SvcError("budget_exceeded", spent, {
          hint: "give it a larger budget with session.configure",
        });
      }
      return session.send(text, more);
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
      const session = await services.hub.get(session_id);
      const spent = spentBudget(session.state, services.config().agent.budget_usd);
      if (spent !== undefined) throw new SvcError("budget_exceeded", spent);
      const done = await session.compact();
      if (done === undefined) return { compacted: false };
      const { tokens_before, tokens_after } = done;
      return { compacted: true, tokens_before, tokens_after };
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
    name: "session.approve",
    summary: "Decides a pending approval.",
    access: "write",
    rest: {
      method: "POST",
      path: "/v1/sessions/:session_id/approvals/:approval_id",
      status: 200,
    },
    input: () =>
      z.object({
        session_id: session_id(),
        approval_id: z.string(),
        decision: z.enum(["allow", "allow_always", "deny"]),
        shown: z.string().regex(/^[0-9a-f]{64}$/).optional().describe(
          "SHA-256 of the JSON [tool, args, reason, rule] that was shown to the person; " +
            "the call is refused if the request differs",
        ),
      }),
    output: () => z.object({ approval_id: z.string(), decision: z.string() }),
    async handle({ services, caller }, { session_id, approval_id, decision, shown }) {
      await (await services.hub.get(session_id)).approvals.decide(
        approval_id,
        decision,
        caller.via,
        shown,
      );
      return { approval_id, decision };
    },
  }),
  defineVerb({
    name: "session.transcript",
    summary: "Returns the conversation of a session.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        last: z.int().min(1).optional().describe(
          "Maximum number of messages to return, newest first",
        ),
      }),
    output: () =>
      z.object({
        messages: z.array(z.custom<Message>()),
        left_out: z.int().describe("Number of older messages left out"),
        writing: z.string().describe("Text of the answer in progress"),
        seq: z.int(),
      }),
    async handle({ services }, { session_id, last = Infinity }) {
      const session = await services.hub.get(session_id);
      const transcript = await session.transcript();
      const messages = transcript.messages();
      const left_out = Math.max(messages.length - last, 0);
      const { writing } = transcript;
      return {
        messages: messages.slice(left_out),
        left_out,
        writing,
        seq: session.published_seq,
      };
    },
  }),
  defineVerb({
    name: "session.subscribe",
    summary: "Streams a session's events as $/event notifications, replayed events first.",
    access: "read",
    input: () =>
      z.object({
        session_id: session_id(),
        since_seq: z.int().min(0).optional()
          .describe("The last seq the client has; by default, only new events are sent"),
        deltas: z.enum(["session", "lane", "both"]).optional(),
      }),
    output: () => z.object({ sub: z.int(), current_seq: z.int() }),
    async handle({ services, caller }, { session_id, since_seq, deltas }) {
      const session = await services.hub.get(session_id);
      const push = pushChannel(
        caller,
        "session.subscribe",
        "use the local socket, a WebSocket, or GET /v1/sessions/{id}/events",
      );
      const current_seq = session.published_seq;
      const sub = push.open(({ event, ended }) =>
        session.subscribe({ deliver: event, ended }, {
          since_seq: since_seq ?? current_seq,
          deltas,
        })
      );
      return { sub, current_seq };
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
