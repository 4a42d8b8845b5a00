/** The loopback HTTP listener: access, and frequent requests; `routes.ts` has the rest. */
import type { Log } from "../os/log.ts";
import { SvcError, toSvcError } from "../protocol/errors.ts";
import { Opener } from "../base/lazy.ts";
import { bodyOf } from "../base/text_slices.ts";
import { type Caller, type Dispatcher, resultJson, type Verb } from "../verbs/define.ts";
import { BASE_HEADERS, errorResponse, JSON_HEADERS, SECRET_HEADERS } from "../net/answers.ts";
import { type Guards } from "./guards.ts";
import type { Pages } from "./pages.ts";
import type { OpenSocket } from "./websocket.ts";

export interface HttpOptions {
  dispatcher: Dispatcher;
  log: Log;
  guards(): Guards;
  /** Whether the daemon is stopping and accepts no new requests. */
  stopping(): boolean;
  /** Answers an accepted request for `/mcp`. */
  mcp(request: Request): Promise<Response>;
  /** Proofs of pages that come back. */
  pages(): Promise<Pages>;
  /** Whether a peer is this user; true when the system cannot tell. */
  sameUser(peer: Deno.NetAddr): Promise<boolean>;
}

/** Close code when the daemon stops (RFC 6455, section 7.4.1). */
const CLOSE_GOING_AWAY = 1001;

/** Largest request body, bytes (contract.md section 2). */
export const BODY_MAX = 8 * 1024 * 1024;

const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers":
    "Authorization, Content-Type, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version",
  "access-control-max-age": "600",
};

export interface HttpDoor {
  handle(
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
  ): Response | Promise<Response>;
  /** Closes WebSockets, which would keep the listener open. */
  close(): void;
}

/** Shared by the routes and the listener. */
export interface RouteParts {
  caller: Caller;
  /** Bytes. */
  body_max: number;
  sockets: Set<OpenSocket>;
  /** @throws {SvcError} unauthenticated without the token */
  authenticated(request: Request): void;
  respond(verb: Verb, result: unknown): Response;
  /** The answer to a failed request. */
  failed(thrown: unknown, path: string): Response;
}

export function httpDoor(options: HttpOptions): HttpDoor {
  const { dispatcher, guards } = options;
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

  // Routes without parameters, so that frequent requests skip the router.
  const plain = new Map<string, Verb>();
  for (const verb of dispatcher.verbs.values()) {
    if (verb.rest === undefined) continue;
    const { method, path, required = [], same_user, content } = verb.rest;
    const is_plain = !path.includes(":") && required.length === 0 && !same_user && !content;
    if (method === "GET" && is_plain) {
      plain.set(path, verb);
    }
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

  let routes: HttpDoor["handle"] | undefined;
  const loaded = new Opener(async () => {
    const { routesOf } = await import("./routes.ts");
    const parts = { caller, body_max: BODY_MAX, sockets, authenticated, respond, failed };
    return routes = routesOf(options, parts);
  });
  const route: HttpDoor["handle"] = (request, info) => {
    const verb = request.method === "GET" ? plain.get(pathOf(request.url)) : undefined;
    if (verb !== undefined) return answerPlain(verb, request);
    return routes?.(request, info) ?? loaded.get().then((handle) => handle(request, info));
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
    // An upgrade's response belongs to the socket.
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

/** Path and query of an absolute URL, as sent. */
function pathOf(url: string): string {
  return url.slice(url.indexOf("/", url.indexOf("//") + 2));
}
