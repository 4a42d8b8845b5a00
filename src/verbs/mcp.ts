import * as z from "zod";
import type { ExternalScope } from "../mcp/external.ts";
import { SvcError } from "../platform/errors.ts";
import { defineVerb } from "./define.ts";
import type { Services } from "./services.ts";
import { session_id } from "./session.ts";

const scope_of = session_id.optional()
  .describe("As this session has it: its trust, and the servers of its project");
const trust = z.enum(["trusted", "untrusted"]);
const problems = z.array(z.object({ server: z.string(), message: z.string() }));

async function scopeOf(services: Services, id: string | undefined): Promise<ExternalScope> {
  if (id === undefined) return { trust: "trusted" };
  const { trust, workdir } = (await services.hub.get(id)).state;
  return { trust, workdir };
}

export const mcpVerbs = [
  defineVerb({
    name: "mcp.list_servers",
    summary: "Lists the tool servers of policy.yaml and how they stand; starts none.",
    access: "read",
    input: z.object({ session_id: scope_of }),
    output: () =>
      z.object({
        servers: z.array(z.object({
          name: z.string(),
          scope: z.enum(["operator", "project"]),
          transport: z.enum(["stdio", "http"]),
          trust,
          enabled: z.boolean(),
          problem: z.string().optional(),
          connected: z.int(),
          breaker: z.enum(["closed", "open", "half_open", "probing"]),
          tools: z.int().optional(),
        })),
        problems,
      }),
    async handle({ services }, { session_id }) {
      const servers = await services.tool_servers();
      const { items, problems } = await servers.list(await scopeOf(services, session_id));
      return { servers: items, problems };
    },
  }),
  defineVerb({
    name: "mcp.list_tools",
    summary: "Lists the tools of tool servers as models see them; asks servers not asked before.",
    access: "read",
    input: z.object({ server: z.string().optional(), session_id: scope_of }),
    output: () =>
      z.object({
        tools: z.array(z.object({
          name: z.string(),
          server: z.string(),
          tool: z.string(),
          description: z.string(),
          access: z.enum(["read", "write", "execute", "network"]),
          input_schema: z.record(z.string(), z.unknown()),
        })),
        problems,
      }),
    async handle({ services, signal }, { server, session_id }) {
      const servers = await services.tool_servers();
      const scope = await scopeOf(services, session_id);
      const { accessOf, namedTools } = await import("../mcp/external_tools.ts");
      const { tools, problems } = namedTools(await servers.tools(scope, signal, server));
      return {
        tools: tools.map((named) => {
          const { name, server: { entry }, tool } = named;
          return {
            name,
            server: entry.name,
            tool: tool.name,
            description: tool.description ?? "",
            access: accessOf(named),
            input_schema: tool.inputSchema,
          };
        }),
        problems,
      };
    },
  }),
  defineVerb({
    name: "mcp.test_server",
    summary: "Connects to a tool server of its own, lists its tools, and says how long that took.",
    access: "write",
    input: z.object({ name: z.string(), session_id: scope_of }),
    output: () =>
      z.object({
        ok: z.boolean(),
        latency_ms: z.int().optional(),
        server: z.object({ name: z.string(), version: z.string() }).optional(),
        tools: z.int().optional(),
        reason: z.string().optional(),
      }),
    async handle({ services, signal }, { name, session_id }) {
      const servers = await services.tool_servers();
      const scope = await scopeOf(services, session_id);
      try {
        return { ok: true, ...await servers.test(name, scope, signal) };
      } catch (error) {
        if (!(error instanceof SvcError) || error.code === "not_found") throw error;
        return { ok: false, reason: error.message };
      }
    },
  }),
];
