/** The MCP tools, made from the verbs. */
import type { Tool } from "@modelcontextprotocol/sdk/types";
import * as z from "zod";
import type { CAPS, CatalogChoice } from "../../protocol/schemas/mcp.ts";
import type { Verb } from "../../verbs/define.ts";
import { PARAMETERS } from "./parameters.ts";

type Caps = (typeof CAPS)[number];

export type CatalogOptions = Required<CatalogChoice>;

/** The toolset `core`. Models choose better among few tools, and each costs tokens. */
const CORE: ReadonlySet<string> = new Set([
  ...["session.start", "session.send", "session.get", "session.list", "session.transcript"],
  ...["session.approve", "session.cancel", "session.kill", "models.list"],
  ...["worktree.diff", "verify.test", "task.run", "task.get"],
  "mission.get",
]);

/**
 * Clients whose model providers refuse dots in tool names, by the name in `clientInfo`: the AI SDK,
 * LangChain, the Python SDK (other libraries use its name), Claude Desktop, Copilot and Codex.
 */
const REFUSE_DOTS: ReadonlySet<string> = new Set([
  ...["ai-sdk-mcp-client", "@langchain/mcp-adapters", "mcp", "claude-ai"],
  ...["github-copilot-developer", "codex-mcp-client"],
]);

/** Prefix of all tools except legacy ones. */
const PREFIX = "svc.";

export const LINKS = z.object({
  self: z.string().describe("The resource that the result is about"),
  related: z.array(z.string()).describe("Resources to read next"),
  deprecations: z.array(z.string()).describe("Former names of this tool, gone with v2.0.0"),
});

export function toolName(verb: Verb, safe_names: boolean): string {
  const name = verb.legacy ? verb.name : `${PREFIX}${verb.name}`;
  return safe_names ? name.replaceAll(".", "_") : name;
}

/** Whether a verb is offered with these caps. */
export function isOffered({ access, destructive }: Verb, caps: Caps): boolean {
  if (access === "read" || caps === "all") return true;
  return caps === "write" && !destructive;
}

export class Catalog {
  readonly options: CatalogOptions;
  readonly tools: readonly Tool[];
  readonly #verbs: ReadonlyMap<string, Verb>;
  readonly #names: ReadonlyMap<string, string>;

  constructor(verbs: Iterable<Verb>, options: CatalogOptions) {
    this.options = options;
    const { caps, toolset, safe_names } = options;
    const named = [...verbs].filter(({ internal }) => !internal);
    this.#verbs = new Map(
      [false, true].flatMap((safe) => named.map((verb) => [toolName(verb, safe), verb])),
    );
    this.#names = new Map(named.map((verb) => [verb.name, toolName(verb, safe_names)]));
    this.tools = named
      .filter((verb) => isOffered(verb, caps) && (toolset === "all" || CORE.has(verb.name)))
      .map((verb) => tool(toolName(verb, safe_names), verb));
  }

  /** The verb of a tool in either spelling, even if not offered. */
  verb(tool_name: string): Verb | undefined {
    return this.#verbs.get(tool_name);
  }

  /** The tool name of a verb. */
  tool(verb_name: string): string {
    return this.#names.get(verb_name) ?? verb_name;
  }
}

/** The catalogs of one daemon, created on demand. */
export class Catalogs {
  readonly #verbs: ReadonlyMap<string, Verb>;
  #made = new Map<string, Catalog>();

  constructor(verbs: ReadonlyMap<string, Verb>) {
    this.#verbs = verbs;
  }

  /** @param client its name in `clientInfo` */
  for({ safe_names, ...choice }: CatalogChoice, client: string | undefined): Catalog {
    return this.get({ ...choice, safe_names: safe_names ?? REFUSE_DOTS.has(client ?? "") });
  }

  get(options: CatalogOptions): Catalog {
    const key = `${options.caps} ${options.toolset} ${options.safe_names}`;
    let catalog = this.#made.get(key);
    if (catalog === undefined) {
      this.#made.set(key, catalog = new Catalog(this.#verbs.values(), options));
    }
    return catalog;
  }
}

function tool(name: string, verb: Verb): Tool {
  const writes = verb.access === "write";
  return {
    name,
    title: titleOf(verb.name.replace(/^svc_/, "")),
    description: verb.summary,
    inputSchema: described(objectSchema(verb.input, "input")),
    outputSchema: objectSchema(verb.legacy ? verb.output() : envelope(verb.output()), "output"),
    annotations: {
      readOnlyHint: !writes,
      // Read-only tools have neither.
      ...(writes && {
        destructiveHint: verb.destructive ?? false,
        idempotentHint: verb.idempotent ?? false,
      }),
    },
  };
}

/** Schema of answers of all but the legacy tools (contract.md section 4). */
function envelope(data: z.ZodType): z.ZodType {
  return z.object({
    ok: z.boolean(),
    data: data.optional(),
    error_code: z.string().optional(),
    error_message: z.string().optional(),
    links: LINKS.optional(),
  });
}

/** Words for people: `session.start` becomes "Session start". */
function titleOf(name: string): string {
  const words = name.replaceAll(/[._]+/g, " ").replace(/\bid\b/, "ID");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Adds titles, and descriptions where the verb has none. */
function described({ properties = {}, ...schema }: Tool["inputSchema"]): Tool["inputSchema"] {
  const entries = Object.entries(properties as Record<string, Record<string, unknown>>);
  const whole = entries.map(([name, value]) => [
    name,
    { title: titleOf(name), description: PARAMETERS[name], ...value },
  ]);
  return { ...schema, properties: Object.fromEntries(whole) };
}

/** JSON Schema of an object, as MCP requires. */
function objectSchema(schema: z.ZodType, io: "input" | "output"): Tool["inputSchema"] {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    // Every number of JSON is as exact as that; a model reads each bound.
    override({ jsonSchema: it }) {
      if (it.maximum === Number.MAX_SAFE_INTEGER) delete it.maximum;
      if (it.minimum === Number.MIN_SAFE_INTEGER) delete it.minimum;
    },
  });
  return { ...json, type: "object" } as Tool["inputSchema"];
}
