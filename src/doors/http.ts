/** The loopback HTTP listener: REST routes made from the verbs, `/v1/rpc`, SSE, WebSocket. */
import { type Context as HonoContext, Hono } from "hono";
import type { Log } from "../platform/log.ts";
import { type SvcCode, SvcError, toSvcError } from "../platform/errors.ts";
import { answer } from "../rpc/codec.ts";
import { type Caller, type Dispatcher, resultJson, type Verb } from "../verbs/define.ts";
import { type Guards } from "./guards.ts";
import { sessionEvents } from "./sse.ts";
import { CLOSE_GOING_AWAY, upgradeSocket } from "./websocket.ts";

export interface HttpOptions {
  dispatcher: Dispatcher;
  log: Log;
  guards(): Guards;
  /** Whether the daemon is stopping: nothing new is taken. */
  stopping(): boolean;
  /** Whether a TCP peer is this user; true where the system cannot tell. */
  sameUser(peer_port: number): boolean;
}

/** Largest request body in bytes (contract.md section 2). */
const BODY_MAX = 8 * 1024 * 1024;

const STATUS: Record<SvcCode, number> = {
  validation: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  append_only_violation: 409,
  ended: 410,
  journal_trimmed: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  budget_exceeded: 429,
  internal: 500,
  crash_recovery: 500,
  schema_version: 500,
  not_implemented: 501,
  shutting_down: 503,
  timeout: 504,
};

const BASE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "vary": "Origin",
};
const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": "Authorization, Content-Type, Last-Event-ID",
  "access-control-max-age": "600",
};
const JSON_HEADERS = { ...BASE_HEADERS, "content-type": "application/json" };

export interface HttpDoor {
  handle(
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
  ): Response | Promise<Response>;
  /** Ends what would keep the listener open: its WebSockets. */
  close(): void;
}

/** Makes the loopback listener's door. */
export function httpDoor(options: HttpOptions): HttpDoor {
  const { dispatcher, guards } = options;
  const app = new Hono<{ Bindings: Deno.ServeHandlerInfo<Deno.NetAddr> }>();
  const caller: Caller = { via: "http" };
  const sockets = new Set<WebSocket>();

  const refuse = (request: Request, origin: string | null): Response | undefined => {
    const guard = guards();
    if (!guard.host(request.headers)) {
      return errorResponse(
        new SvcError("permission_denied", "the Host header does not name this listener", {
          hint: "use 127.0.0.1 or localhost with the daemon's port",
        }),
      );
    }
    if (!guard.origin(origin)) {
      return errorResponse(
        new SvcError("permission_denied", "this Origin may not talk to the daemon", {
          hint: "add it to [http] allowed_origins in daemon.toml if it is yours",
        }),
      );
    }
    if (options.stopping()) {
      return errorResponse(new SvcError("shutting_down", "the daemon is stopping"));
    }
    return undefined;
  };
  const authenticated = (request: Request): void => {
    if (guards().bearer(request.headers)) return;
    throw new SvcError("unauthenticated", "a valid bearer token is needed", {
      hint: "read the token from ~/.svc/daemon.json; it changes at every start of the daemon",
    });
  };

  const runVerb = async (
    verb: Verb,
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
    readParams: () => Params | Promise<Params>,
  ): Promise<Response> => {
    const { status, required = [], location, public: open, same_user } = verb.rest!;
    if (!open) authenticated(request);
    if (same_user && !options.sameUser(info.remoteAddr.port)) {
      throw new SvcError("permission_denied", "the discovery record is for the daemon's own user");
    }
    const params = await readParams();
    for (const name of required) {
      if (params[name] === undefined) {
        throw new SvcError("validation", `${verb.name}: ${name} is required`);
      }
    }
    const result = await dispatcher.run(verb, params, caller, request);
    if (status === 204) return new Response(null, { status, headers: BASE_HEADERS });
    let headers: Record<string, string> = JSON_HEADERS;
    if (location) headers = { ...headers, location: location(result as never) };
    // No page of another origin may even embed it.
    if (same_user) headers = { ...headers, "cross-origin-resource-policy": "same-origin" };
    return new Response(resultJson(result), { status, headers });
  };
  const failed = (thrown: unknown, path: string): Response => {
    const error = toSvcError(thrown);
    if (error.code === "internal") {
      options.log.error("a request failed", { path, error: (thrown as Error).stack });
    }
    return errorResponse(error);
  };

  const allowed = new Map<string, string[]>();
  // Routes without parameters, by their path: what clients poll is answered without the router.
  const plain = new Map<string, Verb>();
  for (const verb of dispatcher.verbs.values()) {
    if (verb.rest === undefined) continue;
    const { method, path } = verb.rest;
    allowed.set(path, [...(allowed.get(path) ?? []), method]);
    if (method === "GET" && !path.includes(":")) plain.set(path, verb);
    app.on(method, path, (c) => runVerb(verb, c.req.raw, c.env, () => restParams(c, verb)));
  }
  const answerPlain = async (
    verb: Verb,
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
  ): Promise<Response> => {
    try {
      return await runVerb(verb, request, info, () => ({}));
    } catch (error) {
      return failed(error, verb.rest!.path);
    }
  };

  app.get("/v1/sessions/:session_id/events", (c) => {
    authenticated(c.req.raw);
    return sessionEvents(c, dispatcher, BASE_HEADERS);
  });
  allowed.set("/v1/sessions/:session_id/events", ["GET"]);

  app.post("/v1/rpc", async (c) => {
    authenticated(c.req.raw);
    requireJson(c.req.raw);
    const said = await answer(await bodyText(c.req.raw), dispatcher, caller, c.req.raw);
    if (said === undefined) return new Response(null, { status: 204, headers: BASE_HEADERS });
    return new Response(said, { headers: JSON_HEADERS });
  });
  allowed.set("/v1/rpc", ["POST"]);

  let description: Promise<string> | undefined;
  app.get("/v1/openapi.json", async () => {
    // Made when it is first asked for: it takes as long as a start of the daemon.
    description ??= import("./openapi.ts").then(({ openApi }) =>
      JSON.stringify(openApi(dispatcher.verbs.values()))
    );
    return new Response(await description, { headers: JSON_HEADERS });
  });
  allowed.set("/v1/openapi.json", ["GET"]);

  for (const path of ["/", "/v1/ws"]) {
    app.get(path, (c, next) => {
      if (c.req.header("upgrade")?.toLowerCase() !== "websocket") return next();
      return upgradeSocket(c.req.raw, dispatcher, guards(), sockets);
    });
  }
  for (const [path, methods] of allowed) {
    app.all(path, () => {
      const error = new SvcError("method_not_allowed", `this path takes ${methods.join(", ")}`);
      const response = errorResponse(error);
      response.headers.set("allow", methods.join(", "));
      return response;
    });
  }
  app.notFound((c) =>
    errorResponse(new SvcError("not_found", `there is nothing at ${c.req.path}`))
  );
  app.onError((thrown, c) => failed(thrown, c.req.path));

  const route: HttpDoor["handle"] = (request, info) => {
    const verb = request.method === "GET" ? plain.get(pathOf(request.url)) : undefined;
    return verb ? answerPlain(verb, request, info) : app.fetch(request, info);
  };
  const answerCrossOrigin = async (
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
    origin: string,
  ): Promise<Response> => {
    const preflight = request.method === "OPTIONS" &&
      request.headers.has("access-control-request-method");
    const response = preflight
      ? new Response(null, { status: 204, headers: { ...BASE_HEADERS, ...PREFLIGHT_HEADERS } })
      : await route(request, info);
    // The answer to an upgrade is the socket's own.
    if (response.status !== 101) response.headers.set("access-control-allow-origin", origin);
    return response;
  };

  return {
    handle(request, info) {
      const origin = request.headers.get("origin");
      const refusal = refuse(request, origin);
      if (refusal !== undefined) return refusal;
      return origin !== null && guards().readable(origin)
        ? answerCrossOrigin(request, info, origin)
        : route(request, info);
    },
    close() {
      for (const socket of sockets) socket.close(CLOSE_GOING_AWAY, "the daemon is stopping");
    },
  };
}

/** An error as both surfaces show it (contract.md section 3). */
export function errorResponse(error: SvcError): Response {
  const { code, message, hint, details } = error;
  const headers: Record<string, string> = { ...JSON_HEADERS };
  if (code === "unauthenticated") headers["www-authenticate"] = 'Bearer realm="svc"';
  if (code === "shutting_down") headers["retry-after"] = "2";
  return new Response(JSON.stringify({ error: { code, message, hint, details } }), {
    status: STATUS[code],
    headers,
  });
}

/** Path and query of an absolute URL, as they were sent. */
function pathOf(url: string): string {
  return url.slice(url.indexOf("/", url.indexOf("//") + 2));
}

type Params = Record<string, unknown>;

/** A verb's parameters from path, query and body. */
async function restParams(c: HonoContext, verb: Verb): Promise<Params> {
  const path = c.req.param() as Record<string, string>;
  if (verb.rest!.method !== "POST") return { ...queryParams(c.req.query()), ...path };
  const text = await bodyText(c.req.raw);
  if (text === "") return path;
  requireJson(c.req.raw);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new SvcError("validation", "the body is not valid JSON");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new SvcError("validation", "the body must be a JSON object");
  }
  return { ...body, ...path };
}

/** Query values as the JSON they spell (`true`, `10`), else as the string they are. */
function queryParams(query: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map((
      [name, value],
    ) => [name, /^(true|false|-?\d+)$/.test(value) ? JSON.parse(value) : value]),
  );
}

function requireJson(request: Request): void {
  const type = request.headers.get("content-type")?.split(";")[0].trim().toLowerCase();
  if (type !== "application/json") {
    throw new SvcError("unsupported_media_type", "the body must be application/json");
  }
}

/** Reads a body of at most {@linkcode BODY_MAX} bytes. */
async function bodyText(request: Request): Promise<string> {
  const tooLarge = () =>
    new SvcError("payload_too_large", `the body is larger than ${BODY_MAX} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > BODY_MAX) throw tooLarge();
  if (request.body === null) return "";
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  try {
    for await (const chunk of request.body) {
      size += chunk.length;
      if (size > BODY_MAX) throw tooLarge();
      text += decoder.decode(chunk, { stream: true });
    }
  } catch (error) {
    if (error instanceof SvcError) throw error;
    // Badly framed, or the client left in the middle of it.
    throw new SvcError("validation", "the body could not be read to its end", { cause: error });
  }
  return text + decoder.decode();
}
