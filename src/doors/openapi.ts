/** The OpenAPI 3.1 description of the listener, from the verbs. */
import * as z from "zod";
import { CAPS, TOOLSETS } from "../protocol/schemas/mcp.ts";
import type { Verb } from "../verbs/define.ts";
import { PROTOCOL_VERSION, VERSION } from "../protocol/version.ts";

export type Json = { [name: string]: unknown };

const ERROR: Json = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message"],
      properties: {
        code: { type: "string", description: "One of a fixed set, such as not_found" },
        message: { type: "string" },
        hint: { type: "string", description: "What to do about it" },
        details: { type: "object" },
      },
    },
  },
};

const JSON_RPC: Json = {
  type: "object",
  required: ["jsonrpc"],
  properties: {
    jsonrpc: { const: "2.0" },
    id: { type: ["string", "number", "null"] },
    method: { type: "string" },
    params: { type: ["object", "array"] },
    result: {},
    error: {
      type: "object",
      required: ["code", "message"],
      properties: { code: { type: "integer" }, message: { type: "string" }, data: {} },
    },
  },
};

/**
 * Describes the verbs with a route, and the other routes.
 *
 * @example
 * ```ts
 * import { VERBS } from "../features/registry.ts";
 * const { openapi } = openApi(VERBS);
 * ```
 */
export function openApi(verbs: Iterable<Verb>): Json {
  const paths: Record<string, Json> = {};
  const add = (path: string, method: string, operation: Json) => {
    (paths[openApiPath(path)] ??= {})[method.toLowerCase()] = operation;
  };
  for (const verb of verbs) {
    if (verb.rest !== undefined) add(verb.rest.path, verb.rest.method, verbOperation(verb));
  }
  add("/v1/sessions/:session_id/events", "GET", eventStream());
  add("/v1/rpc", "POST", rpc(verbs));
  add("/v1/openapi.json", "GET", ownDescription());
  for (const [method, operation] of Object.entries(mcp())) add("/mcp", method, operation);
  return {
    openapi: "3.1.0",
    info: {
      title: "svc",
      version: VERSION,
      description: `Agent sessions of one user on one machine; wire protocol ${PROTOCOL_VERSION}.`,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The daemon's own loopback listener" }],
    security: [{ bearer: [] }],
    tags: [...new Set(Object.values(paths).flatMap(tagsOf))].sort().map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "The token in ~/.svc/daemon.json; it changes whenever the daemon starts",
        },
      },
      schemas: { Error: ERROR, JsonRpc: JSON_RPC },
      responses: {
        Error: answer("What went wrong", { $ref: "#/components/schemas/Error" }),
        Unauthenticated: {
          ...answer("The token is missing or invalid", { $ref: "#/components/schemas/Error" }),
          headers: { "WWW-Authenticate": { schema: { type: "string" } } },
        },
      },
    },
  };
}

/** Converts `:name` to OpenAPI's `{name}`. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

function verbOperation(verb: Verb): Json {
  const { path, method, status, required = [], public: open, location, content } = verb.rest!;
  const input = jsonSchema(verb.input, "input");
  const properties = input.properties as Record<string, Json> ?? {};
  const needed = new Set([...input.required as string[] ?? [], ...required]);
  const in_path = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
  const others = Object.entries(properties).filter(([name]) => !in_path.includes(name));
  const in_query = method === "POST" ? [] : others;
  const body = method === "POST" ? others : [];
  const parameters = [
    ...in_path.map((name) => parameter(name, "path", true, properties[name])),
    ...in_query.map(([name, schema]) => parameter(name, "query", needed.has(name), schema)),
  ];
  const body_needed = body.map(([name]) => name).filter((name) => needed.has(name));
  const success = status === 204
    ? { description: "Done" }
    : content
    ? { description: "The file", content: { "*/*": {} } }
    : answer(verb.summary, jsonSchema(verb.output(), "output"));
  if (location) {
    success.headers = { Location: { schema: { type: "string" }, description: "The new resource" } };
  }
  return {
    operationId: verb.name,
    tags: [verb.name.split(".")[0]],
    summary: verb.summary,
    ...(open ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body.length > 0
      ? {
        requestBody: {
          required: body_needed.length > 0,
          content: {
            "application/json": {
              schema: {
                type: "object",
                properties: Object.fromEntries(body),
                ...(body_needed.length > 0 ? { required: body_needed } : {}),
              },
            },
          },
        },
      }
      : {}),
    responses: { [status]: success, ...failures(open) },
  };
}

function eventStream(): Json {
  return {
    operationId: "session.events",
    tags: ["session"],
    summary: "Streams a session's events, replayed events first.",
    parameters: [
      parameter("session_id", "path", true, { type: "string" }),
      parameter("since_seq", "query", false, {
        type: "integer",
        minimum: 0,
        description: "The last seq the client has",
      }),
      parameter("deltas", "query", false, { enum: ["session", "lane", "both"] }),
      parameter("Last-Event-ID", "header", false, {
        type: "string",
        description: "Takes precedence over since_seq",
      }),
    ],
    responses: {
      200: {
        description: "Events: `id` is the seq, `event` the type, `data` the event as JSON",
        content: { "text/event-stream": { schema: { type: "string" } } },
      },
      ...failures(false),
    },
  };
}

function rpc(verbs: Iterable<Verb>): Json {
  const schema = { $ref: "#/components/schemas/JsonRpc" };
  const either = { oneOf: [schema, { type: "array", items: schema, minItems: 1 }] };
  const methods = [...verbs].map(({ name }) => `\`${name}\``).join(", ");
  return {
    operationId: "rpc",
    tags: ["rpc"],
    summary: "Answers a JSON-RPC 2.0 message or batch.",
    description: `Methods: ${methods}.`,
    requestBody: { required: true, content: { "application/json": { schema: either } } },
    responses: {
      200: answer("The answer, or the answers of the batch", either),
      204: { description: "Nothing to answer" },
      ...failures(false),
    },
  };
}

/** Describes streamable HTTP of the Model Context Protocol, which specifies the rest. */
function mcp(): Record<string, Json> {
  const stream = { "text/event-stream": { schema: { type: "string" } } };
  const session = parameter("Mcp-Session-Id", "header", false, {
    type: "string",
    description: "From the answer to initialize; required on every other request",
  });
  const last_event = parameter("Last-Event-ID", "header", false, {
    type: "string",
    description: "The last event received before the stream broke",
  });
  const catalog = [
    parameter("caps", "query", false, { enum: [...CAPS], description: "Tools to offer" }),
    parameter("toolset", "query", false, {
      enum: [...TOOLSETS],
      description: "Tools to list; the others can still be called",
    }),
    parameter("safe_names", "query", false, {
      type: "boolean",
      description: "Whether tool names have underscores instead of dots; default: as the client " +
        "needs it",
    }),
  ];
  const operation = (id: string, summary: string, parameters: Json[], success: Json): Json => ({
    operationId: `mcp.${id}`,
    tags: ["mcp"],
    summary,
    parameters,
    responses: { ...success, ...failures(false) },
  });
  return {
    POST: {
      ...operation("message", "Accepts a message of the Model Context Protocol.", [
        session,
        ...catalog,
      ], {
        200: { description: "The answer, preceded by notifications", content: stream },
        202: { description: "Nothing to answer" },
      }),
      requestBody: {
        required: true,
        content: { "application/json": { schema: { $ref: "#/components/schemas/JsonRpc" } } },
      },
    },
    GET: operation("stream", "Streams notifications of the server.", [session, last_event], {
      200: { description: "Notifications", content: stream },
    }),
    DELETE: operation("end", "Ends a session of the protocol.", [session], {
      200: { description: "Done" },
    }),
  };
}

function ownDescription(): Json {
  return {
    operationId: "openapi",
    tags: ["daemon"],
    summary: "This description.",
    security: [],
    responses: { 200: answer("OpenAPI 3.1", { type: "object" }), ...failures(true) },
  };
}

function failures(open: boolean | undefined): Json {
  return {
    ...(open ? {} : { 401: { $ref: "#/components/responses/Unauthenticated" } }),
    default: { $ref: "#/components/responses/Error" },
  };
}

function answer(description: string, schema: Json): Json {
  return { description, content: { "application/json": { schema } } };
}

function parameter(name: string, place: string, required: boolean, schema: Json = {}): Json {
  const { description, ...rest } = schema;
  return {
    name,
    in: place,
    required,
    ...(description ? { description } : {}),
    schema: rest,
  };
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return json;
}

function tagsOf(path: Json): string[] {
  return Object.values(path).flatMap((operation) => (operation as { tags: string[] }).tags);
}
