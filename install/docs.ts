/**
 * Writes the generated parts of docs/reference, each between two marks:
 *
 *   deno task docs
 */
import { fromFileUrl } from "@std/path";
import * as z from "zod";
import { wholeTable } from "../src/cli/commands.ts";
import type { Command } from "../src/cli/spec.ts";
import { helpText } from "../src/cli/help.ts";
import { EXITS } from "../src/cli/chat_exits.ts";
import { LINES } from "../src/cli/chat_lines.ts";
import { STATUS } from "../src/net/answers.ts";
import { openApiPath } from "../src/doors/openapi.ts";
import type { SvcCode } from "../src/protocol/errors.ts";
import { NUMBERS } from "../src/doors/rpc/codec.ts";
import type { Section } from "../src/config/section.ts";
import type { Verb } from "../src/verbs/define.ts";
import { SECTIONS, VERBS } from "../src/features/registry.ts";

/** A generated part of a page. */
export interface Part {
  /** The page. */
  file: string;
  /** The part is between `<!-- name -->` and `<!-- /name -->`. */
  name: string;
  text(): string | Promise<string>;
}

/** All generated parts. */
export const PARTS: readonly Part[] = [
  { file: page("verbs.md"), name: "verbs", text: () => verbTable(VERBS) },
  { file: page("api.md"), name: "errors", text: errorTable },
  { file: page("commands.md"), name: "commands", text: commandHelp },
  { file: page("output.md"), name: "lines", text: lineTables },
  { file: page("output.md"), name: "exits", text: exitTable },
  { file: page("command-lines.md"), name: "lines", text: ruledLines },
  { file: page("events.md"), name: "events", text: eventTable },
  { file: page("tools.md"), name: "tools", text: toolTables },
  { file: page("hooks.md"), name: "hooks", text: hookTables },
  { file: page("configuration.md"), name: "own-keys", text: ownKeyTables },
  { file: page("configuration.md"), name: "keys", text: () => keyTables(SECTIONS) },
];

/** Keeps the formatter from padding the columns. */
const AS_IT_IS = ["<!-- deno-fmt-ignore-start -->", "<!-- deno-fmt-ignore-end -->"];

/**
 * Inserts a part between its marks in the text of its page.
 *
 * @throws {Error} when the marks are missing
 */
export async function withPart(page: string, { name, text }: Part): Promise<string> {
  const [from, to] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const begin = page.indexOf(from);
  const end = page.indexOf(to);
  if (begin < 0 || end < begin) throw new Error(`the page lacks ${from} … ${to}`);
  const [start, stop] = AS_IT_IS;
  const part = [start, await text(), stop].join("\n");
  return `${page.slice(0, begin + from.length)}\n${part}\n${page.slice(end)}`;
}

async function ruledLines(): Promise<string> {
  return (await import("./lines.ts")).lineTables();
}

function verbTable(verbs: readonly Verb[]): string {
  const rows = verbs.filter(({ internal }) => !internal).map(({ name, summary, rest }) => {
    const route = rest && `\`${rest.method} ${openApiPath(rest.path)}\` → ${rest.status}`;
    return `| \`${name}\` | ${summary.replaceAll("|", "\\|")} | ${route ?? ""} |`.replace(
      / +\|$/,
      " |",
    );
  });
  return ["| verb | what it does | REST |", "|---|---|---|", ...rows].join("\n");
}

/** What a schema says of a key, as JSON Schema. */
interface Key {
  description?: string;
  default?: unknown;
  properties?: Record<string, Key>;
  additionalProperties?: Key;
  items?: Key;
  enum?: unknown[];
}

/** A table for each section of daemon.toml that belongs to a feature. */
function keyTables(sections: readonly Section[]): string {
  return sections.map(({ name, schema }) => keyTable(name, jsonSchemaOf(schema()))).join("\n\n");
}

/** The tables of the daemon's own keys: those at the top of the file, then each section. */
async function ownKeyTables(): Promise<string> {
  const { OWN } = await import("../src/config/own_keys.ts");
  const all = Object.entries(jsonSchemaOf(OWN).properties ?? {});
  const isTable = (key: Key) => key.properties !== undefined || key.additionalProperties;
  const [tables, top] = [
    all.filter(([, key]) => isTable(key)),
    all.filter(([, it]) => !isTable(it)),
  ];
  const first = ["### At the top of the file", "", ...keyRows("", Object.fromEntries(top))];
  return [first.join("\n"), ...tables.map(([name, key]) => keyTable(name, key))].join("\n\n");
}

function jsonSchemaOf(schema: z.ZodType): Key {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Key;
}

function keyTable(name: string, { properties, additionalProperties, items }: Key): string {
  const title = properties ?? items ? name : `${name}.<name>`;
  const heading = items === undefined ? `[${title}]` : `[[${title}]]`;
  const keys = properties ?? (items ?? additionalProperties)?.properties ?? {};
  return [`### \`${heading}\``, "", ...keyRows(`${name}.`, keys)].join("\n");
}

function keyRows(prefix: string, keys: Record<string, Key>): string[] {
  const rows = Object.entries(keys).map(([key, { description, default: value, enum: values }]) => {
    if (description === undefined) throw new Error(`${prefix}${key} has no description`);
    const fallback = value === undefined ? "" : `\`${JSON.stringify(value)}\``;
    const allowed = values === undefined
      ? ""
      : `. One of ${values.map((it) => `\`${JSON.stringify(it)}\``).join(", ")}`;
    return `| \`${key}\` | ${fallback} | ${description}${allowed} |`.replace("|  |", "| |");
  });
  return ["| key | default | what it is |", "|---|---|---|", ...rows];
}

/** The tools that models are given, with their arguments. */
async function toolTables(): Promise<string> {
  const { builtinTools } = await import("../src/agent/tools.ts");
  const { backgroundTools } = await import("../src/features/background/tools.ts");
  const { memoryTools } = await import("../src/features/memory/tools.ts");
  const { planTool } = await import("../src/features/plan/tool.ts");
  const { askUserTool } = await import("../src/features/questions/tool.ts");
  const { skillTool } = await import("../src/features/skills/tool.ts");
  const { agentTool } = await import("../src/features/subagents/tool.ts");
  const { verifyTool } = await import("../src/features/verify/tool.ts");
  // Only their specifications are read, and no part of a daemon is needed for those.
  const none = {} as never;
  const more = [
    ...backgroundTools(none),
    ...memoryTools(none),
    planTool(none),
    askUserTool(),
    skillTool(none),
    agentTool(none),
    verifyTool(none),
  ];
  return builtinTools(none, more).map(({ access, spec }) => {
    const { properties = {}, required = [] } = spec.input_schema as {
      properties?: Record<string, Key>;
      required?: string[];
    };
    const rows = Object.entries(properties).map(([name, { description = "" }]) =>
      `| \`${name}\` | ${required.includes(name) ? "yes" : "no"} | ${description} |`
        .replace("|  |", "| |")
    );
    const table = ["| argument | required | what it is |", "|---|---|---|", ...rows].join("\n");
    const about = `${spec.description} Access: ${access}.`;
    return [`## \`${spec.name}\``, about, ...(rows.length > 0 ? [table] : [])].join("\n\n");
  }).join("\n\n");
}

/** A table for what hooks read, by event, and one for what they answer. */
async function hookTables(): Promise<string> {
  const { hookAnswer, hookInput } = await import("../src/features/hooks/messages.ts");
  const table = (title: string, schema: z.ZodType) => {
    const { properties = {}, required = [] } = z.toJSONSchema(schema) as {
      properties?: Record<string, Key & { const?: string }>;
      required?: string[];
    };
    const rows = Object.entries(properties).map(([name, { description = "", const: is }]) => {
      const text = is === undefined ? description : `\`${is}\``;
      return `| \`${name}${required.includes(name) ? "" : "?"}\` | ${text} |`
        .replace("|  |", "| |");
    });
    return [`## ${title}`, "", "| field | what it is |", "|---|---|", ...rows].join("\n");
  };
  const inputs = hookInput().options.map((option) =>
    table(`\`${option.shape.event.value}\``, option)
  );
  return [...inputs, table("The answer", hookAnswer())].join("\n\n");
}

/** A table for each line that `svc chat -p` prints. */
function lineTables(): string {
  return Object.entries(LINES).map(([type, { about, schema }]) => {
    const { properties, required } = z.toJSONSchema<z.ZodType>(schema()) as {
      properties: Record<string, Key>;
      required: string[];
    };
    const rows = Object.entries(properties).filter(([name]) => name !== "type").map(
      ([name, { description }]) => {
        if (description === undefined) throw new Error(`${type}.${name} has no description`);
        return `| \`${name}\` | ${required.includes(name) ? "yes" : "no"} | ${description} |`;
      },
    );
    return [
      `### \`${type}\``,
      "",
      `${about}.`,
      "",
      "| field | always there | what it is |",
      "|---|---|---|",
      ...rows,
    ].join("\n");
  }).join("\n\n");
}

/** Lists how `svc chat -p` ends. */
function exitTable(): string {
  const exits = Object.entries(EXITS).map(([name, exit]) => ({ name: `\`${name}\``, ...exit }));
  const usage = { name: "", exit_code: 2, about: "wrong usage; nothing was sent" };
  const rows = [...exits, usage].sort((a, b) => a.exit_code - b.exit_code)
    .map(({ name, exit_code, about }) =>
      `| ${exit_code} | ${name} | ${about} |`.replace("|  |", "| |")
    );
  return ["| exit code | `stop_reason` | meaning |", "|---|---|---|", ...rows].join("\n");
}

function errorTable(): string {
  const codes = Object.keys(STATUS) as SvcCode[];
  const rows = codes.map((code) => `| \`${code}\` | ${STATUS[code]} | ${NUMBERS[code]} |`);
  return ["| code | HTTP | JSON-RPC |", "|---|---|---|", ...rows].join("\n");
}

/** Lists the events of a session, from the comments and fields of their types. */
function eventTable(): string {
  const path = fromFileUrl(new URL("../src/protocol/event_data.ts", import.meta.url));
  const source = Deno.readTextFileSync(path);
  const events = bodyOf(source, "export interface EventData {");
  const rows = membersOf(events).map(({ name, doc, type }) => {
    const named = type.match(/^\w+$/)?.[0];
    const body = named === undefined ? `\n${type.slice(1, -1)};` : interfaceBody(source, named);
    const fields = membersOf(body).map((field) => `\`${field.name}\``).join(", ");
    return `| \`${name}\` | ${doc} | ${fields} |`;
  });
  return ["| event | what it says | data |", "|---|---|---|", ...rows].join("\n");
}

/** Returns the members of an interface, after those of the one that it extends. */
function interfaceBody(source: string, name: string): string {
  const found = new RegExp(`interface ${name}(?: extends (\\w+))? \\{`).exec(source);
  const [opening, base] = found ?? [`interface ${name} {`];
  const own = bodyOf(source, opening);
  return base === undefined ? own : `${interfaceBody(source, base)}\n${own}`;
}

/** Returns the text within the braces that a line opens. */
function bodyOf(source: string, opening: string): string {
  const from = source.indexOf(opening);
  if (from < 0) throw new Error(`there is no ${opening}`);
  const begin = from + opening.length;
  return source.slice(begin, source.indexOf("\n}", begin));
}

/** Returns the top-level members of a type, each with the last comment before it. */
function membersOf(body: string): { name: string; doc: string; type: string }[] {
  const found: { name: string; doc: string; type: string }[] = [];
  const pattern =
    /\/\*\*([^]*?)\*\/|(?<=[\n{;]\s*)"?([\w.]+)"?(\??): ((?:\{(?:[^{}]|\{[^{}]*\})*\}|[^;{])*);/g;
  let doc = "";
  for (const [, comment, name, optional = "", type] of body.matchAll(pattern)) {
    if (comment !== undefined) doc = comment.replaceAll(/\s*\n\s*\* ?/g, " ").trim();
    else {
      found.push({ name: name + optional, doc, type });
      doc = "";
    }
  }
  return found;
}

/** Returns the help of each command and its subcommands. */
async function commandHelp(): Promise<string> {
  const parts: string[] = [];
  const add = (path: string, command: Command) => {
    if (command.former) return;
    parts.push(`## ${path}\n\n\`\`\`text\n${helpText(path, command)}\n\`\`\``);
    for (const [name, below] of Object.entries(command.commands ?? {})) {
      add(`${path} ${name}`, below);
    }
  };
  const { commands = {} } = await wholeTable();
  for (const [name, command] of Object.entries(commands)) add(`svc ${name}`, command);
  return parts.join("\n\n");
}

function page(name: string): string {
  return fromFileUrl(new URL(`../docs/reference/${name}`, import.meta.url));
}

if (import.meta.main) {
  for (const part of PARTS) {
    await Deno.writeTextFile(part.file, await withPart(await Deno.readTextFile(part.file), part));
  }
}
