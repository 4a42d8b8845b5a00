/**
 * Surface B over HTTP: `/api/capabilities`, `/api/task` and a task's resources; the same tasks over
 * A2A at `/a2a`.
 */
import { type Context as HonoContext, Hono } from "hono";
import {
  bodyText,
  errorResponse,
  JSON_HEADERS,
  jsonObject,
  requireJson,
} from "../../net/answers.ts";
import type { Calling } from "../../verbs/call.ts";
import { contentOf, contentResponse } from "../../verbs/content.ts";
import type { Dispatcher } from "../../verbs/define.ts";
import { SvcError, toSvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import type { Drafts } from "./a2a/drafts.ts";
import { A2A_METHODS, addA2aRoutes } from "./a2a/routes.ts";
import { authorityOf, type ListenerAddress, reachedAt } from "./authority.ts";
import { BODY_MAX } from "./body_max.ts";
import { callHire } from "./calls.ts";
import { taskEvents } from "./events.ts";
import type { HireTokens } from "./tokens.ts";

export interface HireAppOptions {
  /** Has only the verbs of hiring. */
  dispatcher: Dispatcher;
  drafts: Drafts;
  tokens: HireTokens;
  log: Log;
  /** The public address without a trailing slash; default: the address of the request. */
  public_url?: string;
  address(): ListenerAddress;
  /** Returns the origins of web pages that may hire. */
  allowed_origins(): readonly string[];
  /** Whether the daemon is stopping and accepts no new tasks. */
  stopping(): boolean;
}

/** Without tokens, a page under a name that resolves to this machine could hire. */
const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Returns the handler of surface B. */
export function hireApp(options: HireAppOptions): (request: Request) => Promise<Response> {
  const { dispatcher, tokens, log } = options;
  const app = new Hono();

  const as = (c: HonoContext, key_id?: string): Calling => {
    return { dispatcher, caller: { via: "hire", key_id }, call: c.req.raw };
  };
  /** Identifies the caller. @throws {SvcError} unauthenticated. */
  const calling = (c: HonoContext, token = c.req.header("x-svc-bearer")): Calling => {
    if (!tokens.required) return as(c);
    const key_id = tokens.identify(token ?? null);
    if (key_id !== undefined) return as(c, key_id);
    throw new SvcError("unauthenticated", "a valid X-Svc-Bearer token is required", {
      hint: "send one of the tokens in the operator's SVC_SERVE_TOKENS",
    });
  };

  /** Returns the error of a request, and logs it if the request did not cause it. */
  const toFault = (c: HonoContext, thrown: unknown): SvcError => {
    const error = toSvcError(thrown);
    if (error.code === "internal") {
      log.error("a hired request failed", { path: c.req.path, error: (thrown as Error).stack });
    }
    return error;
  };

  app.get("/api/capabilities", async (c) => json(await callHire("hire.capabilities", {}, as(c))));
  app.post("/api/task", async (c) => {
    const hirer = calling(c);
    if (options.stopping()) throw new SvcError("shutting_down", "the daemon is stopping");
    requireJson(c.req.raw);
    const request = jsonObject(await bodyText(c.req.raw, BODY_MAX));
    const asked = { request, idempotency_key: c.req.header("idempotency-key") };
    if (!prefersAsync(c)) return json(await callHire("hire.run", asked, hirer));
    const record = await callHire("hire.enqueue", asked, hirer);
    return json(record, 202, {
      location: `/api/task/${record.id}`,
      "preference-applied": "respond-async",
    });
  });
  app.get("/api/task/:id", async (c) => {
    const hirer = calling(c);
    return json(await callHire("hire.get", { task_id: c.req.param("id") }, hirer));
  });
  app.post("/api/task/:id/cancel", async (c) => {
    const hirer = calling(c);
    return json(await callHire("hire.cancel", { task_id: c.req.param("id") }, hirer));
  });
  app.get("/api/task/:id/events", async (c) => {
    return await taskEvents(c, calling(c));
  });
  app.get("/api/task/:id/artifacts/:name", async (c) => {
    const hirer = calling(c, anyToken(c));
    const named = { task_id: c.req.param("id"), name: c.req.param("name") };
    return await contentResponse(await contentOf("hire.artifact", named, hirer), c.req.method);
  });

  const baseUrl = (c: HonoContext) =>
    options.public_url ?? reachedAt(new URL(c.req.url).host, options.address());
  addA2aRoutes(app, {
    drafts: options.drafts,
    log,
    stopping: options.stopping,
    anyone: as,
    calling: (c) => calling(c, anyToken(c)),
    baseUrl,
    toFault,
  });

  for (const [path, methods] of Object.entries(METHODS)) {
    app.all(path, () => {
      const error = new SvcError("method_not_allowed", `this path supports ${methods}`);
      const response = errorResponse(error);
      response.headers.set("allow", methods);
      return response;
    });
  }
  app.notFound((c) => errorResponse(new SvcError("not_found", `path not found: ${c.req.path}`)));
  app.onError((thrown, c) => errorResponse(toFault(c, thrown)));

  return async (request) => {
    const response = refuse(request, options) ?? await app.fetch(request);
    // Caches do not recognize X-Svc-Bearer as a credential. Agent cards need none.
    const is_public = response.headers.get("cache-control")?.startsWith("public,") ?? false;
    if (!is_public) response.headers.set("cache-control", "no-store");
    // The HTTP server removes a length from such a request; what follows on the connection may be
    // part of the request (RFC 9112, section 6.1).
    if (request.headers.has("transfer-encoding")) response.headers.set("connection", "close");
    return response;
  };
}

const METHODS = {
  "/api/capabilities": "GET",
  "/api/task": "POST",
  "/api/task/:id": "GET",
  "/api/task/:id/cancel": "POST",
  "/api/task/:id/events": "GET",
  "/api/task/:id/artifacts/:name": "GET",
  ...A2A_METHODS,
};

/** A2A clients send an HTTP bearer token, unless they know X-Svc-Bearer from the card. */
function anyToken(c: HonoContext): string | undefined {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "") ?? [];
  return c.req.header("x-svc-bearer") ?? bearer;
}

/** Refuses web pages, because agents are not browsers, and ambiguous requests. */
function refuse(
  request: Request,
  { tokens, allowed_origins }: HireAppOptions,
): Response | undefined {
  const refused = (code: "validation" | "permission_denied", message: string, hint?: string) =>
    errorResponse(new SvcError(code, message, { hint }));
  const { headers } = request;
  if (headers.has("content-length") && headers.has("transfer-encoding")) {
    return refused(
      "validation",
      "a request must not have both content-length and transfer-encoding",
    );
  }
  const authority = authorityOf(request);
  if (authority === undefined) {
    return refused("validation", "the Host header and the request target must name the same host");
  }
  const origin = headers.get("origin");
  // Every sandboxed page has the origin "null", whoever created it.
  if (origin !== null && (origin === "null" || !allowed_origins().includes(origin))) {
    return refused(
      "permission_denied",
      "this Origin is not allowed to hire",
      "to allow it, add it to [http] allowed_origins in daemon.toml",
    );
  }
  if (!tokens.required && !LOCAL_HOST.test(authority)) {
    return refused(
      "permission_denied",
      "without tokens, only requests with a local Host are accepted",
      "set SVC_SERVE_TOKENS",
    );
  }
}

function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...JSON_HEADERS, ...headers } });
}

/** Whether the request has `Prefer: respond-async` (RFC 7240), possibly among others. */
function prefersAsync(c: HonoContext): boolean {
  const preferences = (c.req.header("prefer") ?? "").split(/[,;]/);
  return preferences.some((it) => it.trim().toLowerCase() === "respond-async");
}
