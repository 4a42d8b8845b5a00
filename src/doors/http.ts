/**
 * The loopback HTTP listener: REST routes made from the verbs, `/v1/rpc`, SSE, WebSocket, the web
 * app.
 */
import { type Context as HonoContext, Hono } from "hono";
import type { Log } from "../os/log.ts";
import type { Hub } from "../session/hub.ts";
import { SvcError, toSvcError } from "../protocol/errors.ts";
import { bodyOf } from "../base/text_slices.ts";
import { type Caller, type Dispatcher, resultJson, type Verb } from "../verbs/define.ts";
import {
  BASE_HEADERS,
  bodyText,
  errorResponse,
  JSON_HEADERS,
  jsonObject,
  requireJson,
  requirePlain,
} from "../net/answers.ts";
import { type Guards } from "./guards.ts";
import type { Download } from "../verbs/opened.ts";
import type { OpenSocket } from "./websocket.ts";

export interface HttpOptions {
  dispatcher: Dispatcher;
  hub: Hub;
  /** Files that features serve. */
  downloads: readonly Download[];
  log: Log;
  guards(): Guards;
  /** Whether the daemon is stopping and accepts no new requests. */
  stopping(): boolean;
  /** Answers a request for `/mcp` whose Host, Origin and token are accepted. */
  mcp(request: Request): Promise<Response>;
  /** Whether the peer of a connection is this user; true when the system cannot tell. */
  sameUser(peer: Deno.NetAddr): Promise<boolean>;
}

/** The close code when the daemon is stopping (RFC 6455, section 7.4.1). */
const CLOSE_GOING_AWAY = 1001;

/** The largest request body in bytes (contract.md section 2). */
export const BODY_MAX = 8 * 1024 * 1024;

const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers":
    "Authorization, Content-Type, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version",
  "access-control-max-age": "600",
};
/** No page of another origin may embed it, and no cache may store it. */
const SECRET_HEADERS = {
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

export interface HttpDoor {
  handle(
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
  ): Response | Promise<Response>;
  /** Closes WebSockets, which would keep the listener open. */
  close(): void;
}

/** Creates the door of the loopback listener. */
export function httpDoor(options: HttpOptions): HttpDoor {
  const { dispatcher, guards } = options;
  const app = new Hono<{ Bindings: Deno.ServeHandlerInfo<Deno.NetAddr> }>();
  const caller: Caller = { via: "http" };
  const sockets = new Set<OpenSocket>();

  const refuse = (request: Request, origin: string | null): Response | undefined => {
    const guard = guards();
    if (!guard.host(request)) {
      return errorResponse(
        new SvcError(
          "permission_denied",
          "the Host header or target does not match this listener",
          {
            hint: "use 127.0.0.1 or localhost with the daemon's port",
          },
        ),
      );
    }
    if (!guard.origin(origin)) {
      return errorResponse(
        new SvcError("permission_denied", "this Origin is not allowed", {
          hint: "to allow it, add it to [http] allowed_origins in daemon.toml",
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
    throw new SvcError("unauthenticated", "a valid bearer token is required", {
      hint: "read the token from ~/.svc/daemon.json; it changes whenever the daemon starts",
    });
  };

  const runVerb = async (
    verb: Verb,
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
    readParams: () => Params | Promise<Params>,
  ): Promise<Response> => {
    const { required = [], public: open, same_user } = verb.rest!;
    if (!open) authenticated(request);
    if (same_user && !await options.sameUser(info.remoteAddr)) {
      throw new SvcError(
        "permission_denied",
        "only the daemon's own user can read the discovery record",
        {
          hint: "run `svc ctl discover` as that user, outside of containers and sandboxes",
        },
      );
    }
    const params = await readParams();
    for (const name of required) {
      if (params[name] === undefined) {
        throw new SvcError("validation", `${verb.name}: ${name} is required`);
      }
    }
    return respond(verb, await dispatcher.run(verb, params, caller, request));
  };
  const respond = (verb: Verb, result: unknown): Response => {
    const { status, location, same_user } = verb.rest!;
    if (status === 204) return new Response(null, { status, headers: BASE_HEADERS });
    let headers: Record<string, string> = JSON_HEADERS;
    if (location) headers = { ...headers, location: location(result as never) };
    if (same_user) headers = { ...headers, ...SECRET_HEADERS };
    return new Response(bodyOf(resultJson(result)), { status, headers });
  };
  const failed = (thrown: unknown, path: string): Response => {
    const error = toSvcError(thrown);
    if (error.code === "internal") {
      options.log.error("a request failed", { path, error: (thrown as Error).stack });
    }
    return errorResponse(error);
  };

  const allowed = new Map<string, string[]>();
  // Routes without parameters by path, so that frequent requests skip the router.
  const plain = new Map<string, Verb>();
  for (const verb of dispatcher.verbs.values()) {
    if (verb.rest === undefined) continue;
    const { method, path } = verb.rest;
    allowed.set(path, [...(allowed.get(path) ?? []), method]);
    const { required = [], same_user } = verb.rest;
    if (method === "GET" && !path.includes(":") && required.length === 0 && !same_user) {
      plain.set(path, verb);
    }
    app.on(method, path, (c) => runVerb(verb, c.req.raw, c.env, () => restParams(c, verb)));
  }
  const answerPlain = (verb: Verb, request: Request): Response | Promise<Response> => {
    const { path, public: open } = verb.rest!;
    try {
      if (!open) authenticated(request);
      const result = dispatcher.start(verb, {}, caller, request);
      if (!(result instanceof Promise)) return respond(verb, result);
      return result.then((it) => respond(verb, it)).catch((error) => failed(error, path));
    } catch (error) {
      return failed(error, path);
    }
  };

  app.get("/v1/sessions/:session_id/events", async (c) => {
    authenticated(c.req.raw);
    const { sessionEvents } = await import("./sse.ts");
    return sessionEvents(c, options.hub, BASE_HEADERS);
  });
  allowed.set("/v1/sessions/:session_id/events", ["GET"]);

  for (const { path, get } of options.downloads) {
    app.get(path, async (c) => {
      authenticated(c.req.raw);
      return await get(c.req.param(), c.req.method);
    });
    allowed.set(path, ["GET"]);
  }

  app.post("/v1/rpc", async (c) => {
    authenticated(c.req.raw);
    requireJson(c.req.raw);
    const { rpcResponse } = await import("./rpc/over_http.ts");
    return await rpcResponse(await bodyText(c.req.raw, BODY_MAX), {
      dispatcher,
      caller,
      call: c.req.raw,
    });
  });
  allowed.set("/v1/rpc", ["POST"]);

  const mcp_methods = ["GET", "POST", "DELETE"];
  app.on(mcp_methods, "/mcp", async (c) => {
    authenticated(c.req.raw);
    const response = await options.mcp(c.req.raw);
    for (const [name, value] of Object.entries(BASE_HEADERS)) response.headers.set(name, value);
    return response;
  });
  allowed.set("/mcp", mcp_methods);

  let description: Promise<string> | undefined;
  app.get("/v1/openapi.json", async () => {
    // Created on demand, because it takes as long as a start of the daemon.
    description ??= import("./openapi.ts").then(({ openApi }) =>
      JSON.stringify(openApi(dispatcher.verbs.values()))
    );
    return new Response(await description, { headers: JSON_HEADERS });
  });
  allowed.set("/v1/openapi.json", ["GET"]);

  for (const path of ["/", "/v1/ws"]) {
    app.get(path, async (c, next) => {
      if (c.req.header("upgrade")?.toLowerCase() !== "websocket") return next();
      const { upgradeSocket } = await import("./websocket.ts");
      return upgradeSocket(c.req.raw, dispatcher, guards(), sockets);
    });
  }
  for (const [path, methods] of allowed) {
    app.all(path, () => {
      const error = new SvcError("method_not_allowed", `this path supports ${methods.join(", ")}`);
      const response = errorResponse(error);
      response.headers.set("allow", methods.join(", "));
      return response;
    });
  }
  app.get("*", async (c, next) => {
    const { appResponse } = await import("./app.ts");
    return appResponse(c.req.raw, BASE_HEADERS) ?? next();
  });
  app.notFound((c) => errorResponse(new SvcError("not_found", `path not found: ${c.req.path}`)));
  app.onError((thrown, c) => failed(thrown, c.req.path));

  const route: HttpDoor["handle"] = (request, info) => {
    const verb = request.method === "GET" ? plain.get(pathOf(request.url)) : undefined;
    return verb ? answerPlain(verb, request) : app.fetch(request, info);
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
    // The response to an upgrade belongs to the socket.
    if (response.status === 101) return response;
    response.headers.set("access-control-allow-origin", origin);
    response.headers.set("access-control-expose-headers", "Mcp-Session-Id");
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

/** Returns path and query of an absolute URL, as they were sent. */
function pathOf(url: string): string {
  return url.slice(url.indexOf("/", url.indexOf("//") + 2));
}

type Params = Record<string, unknown>;

/** Returns a verb's parameters from path, query and body. */
async function restParams(c: HonoContext, verb: Verb): Promise<Params> {
  const path = c.req.param() as Record<string, string>;
  if (verb.rest!.method !== "POST") return { ...queryParams(c.req.query()), ...path };
  requirePlain(c.req.raw.headers);
  const text = await bodyText(c.req.raw, BODY_MAX);
  if (text === "") return path;
  requireJson(c.req.raw);
  return { ...jsonObject(text), ...path };
}

/** Parses query values as JSON (`true`, `10`), or keeps them as strings. */
function queryParams(query: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map((
      [name, value],
    ) => [name, /^(true|false|-?\d+)$/.test(value) ? JSON.parse(value) : value]),
  );
}
