/** The MCP tools, made from the verbs. */
import type { Tool } from "@modelcontextprotocol/sdk/types";
import * as z from "zod";
import type { Verb } from "../../verbs/define.ts";

/**
 * The tools offered to a client: those that only read, also those that change something, or all.
 */
export const CAPS = ["read", "write", "all"] as const;
export type Caps = (typeof CAPS)[number];

/** A client's options for its tools. */
export interface CatalogOptions {
  /** `write` excludes destructive tools, `read` excludes everything that changes something. */
  caps: Caps;
  /** Underscores instead of dots in names, for clients that do not accept dots. */
  safe_names: boolean;
}

/** The prefix of every tool except the legacy ones. */
const PREFIX = "svc.";

const LINKS = z.object({
  self: z.string().describe("The resource that the result is about"),
  related: z.array(z.string()).describe("Resources to read next"),
  deprecations: z.array(z.string()).describe("Former names of this tool, gone with v2.0.0"),
});

/** Returns the name of a verb's tool. */
export function toolName(verb: Verb, safe_names: boolean): string {
  const name = verb.legacy ? verb.name : `${PREFIX}${verb.name}`;
  return safe_names ? name.replaceAll(".", "_") : name;
}

/** Reports whether a verb is offered with these caps. */
export function isOffered({ access, destructive }: Verb, caps: Caps): boolean {
  if (access === "read" || caps === "all") return true;
  return caps === "write" && !destructive;
}

/** The tools offered to one client. */
export class Catalog {
  readonly options: CatalogOptions;
  readonly tools: readonly Tool[];
  readonly #verbs: ReadonlyMap<string, Verb>;
  readonly #names: ReadonlyMap<string, string>;

  constructor(verbs: Iterable<Verb>, options: CatalogOptions) {
    this.options = options;
    const named = [...verbs].filter(({ internal }) => !internal).map((verb): [string, Verb] => [
      toolName(verb, options.safe_names),
      verb,
    ]);
    this.#verbs = new Map(named);
    this.#names = new Map(named.map(([name, verb]) => [verb.name, name]));
    this.tools = named
      .filter(([, verb]) => isOffered(verb, options.caps))
      .map(([name, verb]) => tool(name, verb));
  }

  /** Returns the verb of a tool, even if it is not offered. */
  verb(tool_name: string): Verb | undefined {
    return this.#verbs.get(tool_name);
  }

  /** Returns the name of an existing verb's tool. */
  tool(verb_name: string): string {
    return this.#names.get(verb_name) ?? verb_name;
  }
}

/** The catalogs of one daemon, each created on demand. */
export class Catalogs {
  readonly #verbs: ReadonlyMap<string, Verb>;
  #made = new Map<string, Catalog>();

  constructor(verbs: ReadonlyMap<string, Verb>) {
    this.#verbs = verbs;
  }

  get(options: CatalogOptions): Catalog {
    const key = `${options.caps} ${options.safe_names}`;
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
    description: verb.summary,
    inputSchema: objectSchema(verb.input, "input"),
    outputSchema: objectSchema(verb.legacy ? verb.output() : envelope(verb.output()), "output"),
    annotations: {
      readOnlyHint: !writes,
      // A tool that only reads has neither.
      ...(writes && {
        destructiveHint: verb.destructive ?? false,
        idempotentHint: verb.idempotent ?? false,
      }),
    },
  };
}

/**
 * Returns the schema of the answers of every tool except the legacy ones (contract.md section 4).
 */
function envelope(data: z.ZodType): z.ZodType {
  return z.object({
    ok: z.boolean(),
    data: data.optional(),
    error_code: z.string().optional(),
    error_message: z.string().optional(),
    links: LINKS.optional(),
  });
}

/** Returns the JSON Schema of an object; MCP accepts no other. */
function objectSchema(schema: z.ZodType, io: "input" | "output"): Tool["inputSchema"] {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return { ...json, type: "object" } as Tool["inputSchema"];
}
