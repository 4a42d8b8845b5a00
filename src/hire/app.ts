/** Surface B over HTTP: `/api/capabilities`, `/api/task` and what belongs to a task. */
import { type Context as HonoContext, Hono } from "hono";
import {
  BASE_HEADERS,
  bodyText,
  errorResponse,
  JSON_HEADERS,
  jsonObject,
  requireJson,
} from "../doors/answers.ts";
import { SvcError, toSvcError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { taskEvents } from "./events.ts";
import type { Hiring } from "./hiring.ts";
import type { HireTokens } from "./tokens.ts";

export interface HireAppOptions {
  hiring: Hiring;
  tokens: HireTokens;
  log: Log;
  /** Origins of web pages that may hire. */
  allowed_origins(): readonly string[];
  /** Whether the daemon is stopping: nothing new is taken. */
  stopping(): boolean;
}

/** Largest request body in bytes (contract.md section 9). */
const BODY_MAX = 1024 * 1024;
/** How long a body may take to come. */
const BODY_MS = 30_000;
/** Without tokens a page whose name was led to this machine would be a hirer like any other. */
const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Makes the handler of surface B. */
export function hireApp(options: HireAppOptions): (request: Request) => Promise<Response> {
  const { hiring, tokens, log } = options;
  const app = new Hono();

  /** Who asks. @throws {SvcError} unauthenticated. */
  const caller = (c: HonoContext): string | undefined => {
    if (!tokens.required) return undefined;
    const key_id = tokens.identify(c.req.header("x-svc-bearer") ?? null);
    if (key_id !== undefined) return key_id;
    throw new SvcError("unauthenticated", "a valid X-Svc-Bearer token is needed", {
      hint: "send one of the tokens that the operator listed in SVC_SERVE_TOKENS",
    });
  };

  app.get("/api/capabilities", () => json(hiring.capabilities()));
  app.post("/api/task", async (c) => {
    const key_id = caller(c);
    if (options.stopping()) throw new SvcError("shutting_down", "the daemon is stopping");
    requireJson(c.req.raw);
    const accepted = hiring.accept(jsonObject(await body(c.req.raw)));
    if (!prefersAsync(c)) return json(await hiring.run(accepted, key_id, c.req.raw.signal));
    const record = await hiring.enqueue(accepted, key_id);
    return json(record, 202, {
      location: `/api/task/${record.id}`,
      "preference-applied": "respond-async",
    });
  });
  app.get("/api/task/:id", async (c) => {
    caller(c);
    return json(await hiring.get(c.req.param("id")));
  });
  app.post("/api/task/:id/cancel", async (c) => {
    caller(c);
    return json(await hiring.cancel(c.req.param("id")));
  });
  app.get("/api/task/:id/events", async (c) => {
    caller(c);
    return await taskEvents(c, hiring);
  });
  app.get("/api/task/:id/artifacts/:name", async (c) => {
    caller(c);
    return await artifact(hiring, c.req.param("id"), c.req.param("name"));
  });

  for (const [path, methods] of Object.entries(METHODS)) {
    app.all(path, () => {
      const error = new SvcError("method_not_allowed", `this path takes ${methods}`);
      const response = errorResponse(error);
      response.headers.set("allow", methods);
      return response;
    });
  }
  app.notFound((c) =>
    errorResponse(new SvcError("not_found", `there is nothing at ${c.req.path}`))
  );
  app.onError((thrown, c) => {
    const error = toSvcError(thrown);
    if (error.code === "internal") {
      log.error("a hired request failed", { path: c.req.path, error: thrown.stack });
    }
    return errorResponse(error);
  });

  return async (request) => refuse(request, options) ?? await app.fetch(request);
}

const METHODS = {
  "/api/capabilities": "GET",
  "/api/task": "POST",
  "/api/task/:id": "GET",
  "/api/task/:id/cancel": "POST",
  "/api/task/:id/events": "GET",
  "/api/task/:id/artifacts/:name": "GET",
};

/** What keeps web pages out: agents are no browsers. */
function refuse(
  { headers }: Request,
  { tokens, allowed_origins }: HireAppOptions,
): Response | undefined {
  const origin = headers.get("origin");
  if (origin !== null && !allowed_origins().includes(origin)) {
    return errorResponse(
      new SvcError("permission_denied", "this Origin may not hire", {
        hint: "add it to [http] allowed_origins in daemon.toml if it is yours",
      }),
    );
  }
  if (!tokens.required && !LOCAL_HOST.test(headers.get("host") ?? "")) {
    return errorResponse(
      new SvcError("permission_denied", "without tokens only a local Host is answered", {
        hint: "set SVC_SERVE_TOKENS",
      }),
    );
  }
}

function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...JSON_HEADERS, ...headers } });
}

async function body(request: Request): Promise<string> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new SvcError("validation", `the body did not come within ${BODY_MS / 1000} s`));
  }, BODY_MS);
  try {
    return await Promise.race([bodyText(request, BODY_MAX), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** `Prefer: respond-async` (RFC 7240), among other preferences. */
function prefersAsync(c: HonoContext): boolean {
  const preferences = (c.req.header("prefer") ?? "").split(/[,;]/);
  return preferences.some((it) => it.trim().toLowerCase() === "respond-async");
}

async function artifact(hiring: Hiring, id: string, name: string): Promise<Response> {
  const { artifact: { media_type, size, sha256 }, content } = await hiring.artifact(id, name);
  return new Response(content, {
    headers: {
      ...BASE_HEADERS,
      "content-type": media_type,
      "content-length": String(size),
      // What a task made is shown by nobody's browser as a page of this origin.
      "content-disposition": `attachment; filename="${name}"`,
      "content-security-policy": "default-src 'none'; sandbox",
      "etag": `"${sha256}"`,
    },
  });
}
