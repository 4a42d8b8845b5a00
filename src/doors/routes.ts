/**
 * The routes of the loopback listener: verbs, `/v1/rpc`, `/mcp`, SSE, WebSocket and the web app.
 * Loaded lazily.
 */
import { type Context as HonoContext, Hono } from "hono";
import { SvcError } from "../protocol/errors.ts";
import { Content, contentResponse } from "../verbs/content.ts";
import type { Verb } from "../verbs/define.ts";
import {
  BASE_HEADERS,
  bodyText,
  errorResponse,
  JSON_HEADERS,
  jsonObject,
  requireJson,
  requirePlain,
  SECRET_HEADERS,
} from "../net/answers.ts";
import type { HttpDoor, HttpOptions, RouteParts } from "./http.ts";

/** Largest body of a page that comes back, bytes. */
const PROOF_MAX = 4 * 1024;

/** Returns the handler of accepted requests. */
export function routesOf(options: HttpOptions, parts: RouteParts): HttpDoor["handle"] {
  const { dispatcher, guards } = options;
  const { caller, body_max, sockets, authenticated, respond, failed } = parts;
  const app = new Hono<{ Bindings: Deno.ServeHandlerInfo<Deno.NetAddr> }>();

  const requireSameUser = async (info: Deno.ServeHandlerInfo<Deno.NetAddr>): Promise<void> => {
    if (await options.sameUser(info.remoteAddr)) return;
    throw new SvcError(
      "permission_denied",
      "only the daemon's own user can read the discovery record",
      {
        hint: "run `svc ctl discover` as that user, outside of containers and sandboxes",
      },
    );
  };
  const runVerb = async (
    verb: Verb,
    request: Request,
    info: Deno.ServeHandlerInfo<Deno.NetAddr>,
    readParams: () => Params | Promise<Params>,
  ): Promise<Response> => {
    const { required = [], public: open, same_user } = verb.rest!;
    if (!open) authenticated(request);
    if (same_user) await requireSameUser(info);
    const params = await readParams();
    for (const name of required) {
      if (params[name] === undefined) {
        throw new SvcError("validation", `${verb.name}: ${name} is required`);
      }
    }
    const result = await dispatcher.run(verb, params, caller, request);
    if (result instanceof Content) return await contentResponse(result, request.method);
    return respond(verb, result);
  };
  const allowed = new Map<string, string[]>();
  for (const verb of dispatcher.verbs.values()) {
    if (verb.rest === undefined) continue;
    const { method, path } = verb.rest;
    allowed.set(path, [...(allowed.get(path) ?? []), method]);
    app.on(
      method,
      path,
      (c) => runVerb(verb, c.req.raw, c.env, () => restParams(c, verb, body_max)),
    );
  }

  app.get("/v1/sessions/:session_id/events", async (c) => {
    authenticated(c.req.raw);
    const { sessionEvents } = await import("./sse.ts");
    return await sessionEvents(c, { dispatcher, caller, call: c.req.raw });
  });
  allowed.set("/v1/sessions/:session_id/events", ["GET"]);

  app.post("/v1/rpc", async (c) => {
    authenticated(c.req.raw);
    requireJson(c.req.raw);
    const { rpcResponse } = await import("./rpc/over_http.ts");
    return await rpcResponse(await bodyText(c.req.raw, body_max), {
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

  // How pages of the app come back after a restart; see pages.ts.
  const secret = (body: unknown) =>
    new Response(JSON.stringify(body), { headers: { ...JSON_HEADERS, ...SECRET_HEADERS } });
  const bodyOf = async (request: Request) => {
    requireJson(request);
    return jsonObject(await bodyText(request, PROOF_MAX));
  };
  app.post("/v1/page/key", async (c) => {
    authenticated(c.req.raw);
    return secret(await (await options.pages()).admit());
  });
  app.post("/v1/page/challenge", async (c) => {
    const pages = await options.pages();
    return secret(await pages.challenge(await bodyOf(c.req.raw)));
  });
  app.post("/v1/page/return", async (c) => {
    const pages = await options.pages();
    await pages.requireProof(await bodyOf(c.req.raw));
    await requireSameUser(c.env);
    const discover = dispatcher.verbs.get("daemon.discover")!;
    return respond(discover, await dispatcher.run(discover, {}, caller, c.req.raw));
  });
  for (const name of ["key", "challenge", "return"]) allowed.set(`/v1/page/${name}`, ["POST"]);

  let description: Promise<string> | undefined;
  app.get("/v1/openapi.json", async () => {
    // Created lazily: it takes as long as a start of the daemon.
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

  return (request, info) => app.fetch(request, info);
}

type Params = Record<string, unknown>;

/** A verb's parameters from path, query and body. */
async function restParams(c: HonoContext, verb: Verb, body_max: number): Promise<Params> {
  const path = c.req.param() as Record<string, string>;
  if (verb.rest!.method !== "POST") return { ...queryParams(c.req.query()), ...path };
  requirePlain(c.req.raw.headers);
  const text = await bodyText(c.req.raw, body_max);
  if (text === "") return path;
  requireJson(c.req.raw);
  return { ...jsonObject(text), ...path };
}

/** Parses query values as JSON (`true`, `10`), or keeps the strings. */
function queryParams(query: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map((
      [name, value],
    ) => [name, /^(true|false|-?\d+)$/.test(value) ? JSON.parse(value) : value]),
  );
}
