/** Runs a tool's verb and wraps its answer (contract.md section 4). */
import type * as z from "zod";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types";
import { nearestOf } from "../../base/nearest.ts";
import { SvcError, toSvcError, withHint } from "../../protocol/errors.ts";
import { Prepared, type Verb } from "../../verbs/define.ts";
import type { Held } from "../../verbs/answer_room.ts";
import type { Calling } from "../call.ts";
import { type Catalog, isOffered, type LINKS } from "./catalog.ts";
import { COLLECTIONS, SESSION_PARTS, uri } from "./uris.ts";

interface ToolCall extends Calling {
  verb: Verb;
  args: Record<string, unknown>;
  catalog: Catalog;
}

type Links = z.output<typeof LINKS>;

type Fields = Record<string, unknown>;

/** Most characters of an answer, which contains them twice: more than a model takes. */
const TEXT_MAX = 1024 * 1024;

/** Replaces values that models must not see. */
const WITHHELD = "[withheld over MCP]";

/** Runs a tool; errors become answers with `isError`. */
export async function callTool(tool: ToolCall): Promise<CallToolResult> {
  const { verb, args, catalog, dispatcher, caller, call } = tool;
  let held: Held | undefined;
  try {
    requireOffered(verb, catalog);
    if (verb.large) held = await dispatcher.enterRoom(call);
    const result = await dispatcher.run(verb, args, caller, call);
    const data = withoutSecrets(result instanceof Prepared ? result.value : result ?? {}, verb);
    if (verb.legacy) return answer(data);
    return answer({ ok: true, data, links: linksOf(verb, args, data) });
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (verb.legacy) return { content: [{ type: "text", text: withHint(error) }], isError: true };
    // No links from the arguments: those resources may not exist.
    const links = linksOf(verb, {}, {});
    const failure = { ok: false, error_code: error.code, error_message: withHint(error), links };
    return { ...answer(failure), isError: true };
  } finally {
    held?.leave();
  }
}

/** The message for an unknown tool, with the nearest name. */
export function noSuchTool(name: string, { tools }: Catalog): string {
  const nearest = nearestOf(name, tools.map((tool) => tool.name));
  return `there is no tool ${name}${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
}

function requireOffered(verb: Verb, { options: { caps } }: Catalog): void {
  if (isOffered(verb, caps)) return;
  throw new SvcError("permission_denied", `${verb.name} is not offered to this client`, {
    hint: `it was started with caps ${caps}; use caps ${verb.destructive ? "all" : "write"}`,
  });
}

/** @throws {SvcError} payload_too_large */
function answer(structured: Fields): CallToolResult {
  const text = JSON.stringify(structured);
  if (text.length > TEXT_MAX) {
    throw new SvcError(
      "payload_too_large",
      `the answer is too large for MCP: the limit is ${TEXT_MAX / 1024 / 1024} MiB`,
      { hint: "request less, such as with last or limit, or use svc ctl call" },
    );
  }
  return { content: [{ type: "text", text }], structuredContent: structured };
}

function withoutSecrets(result: unknown, { secrets = [] }: Verb): Fields {
  const data = result as Fields;
  if (secrets.length === 0) return data;
  return { ...data, ...Object.fromEntries(secrets.map((name) => [name, WITHHELD])) };
}

/** Links to the resources in data or arguments, otherwise to the list of the namespace. */
function linksOf({ name, replaces }: Verb, args: Fields, data: Fields): Links | undefined {
  const deprecations = replaces === undefined ? [] : [replaces];
  for (const { name: collection, param } of COLLECTIONS) {
    const id = data[param] ?? args[param];
    if (typeof id !== "string" || id === "") continue;
    const parts = collection === "sessions" ? SESSION_PARTS : [];
    const related = parts.map((part) => uri(collection, id, part));
    return { self: uri(collection, id), related, deprecations };
  }
  const [namespace] = name.split(".");
  const own = COLLECTIONS.find(({ list }) => list.startsWith(`${namespace}.`));
  if (own === undefined) return undefined;
  const self = typeof data.id === "string" ? uri(own.name, data.id) : uri(own.name);
  return { self, related: [], deprecations };
}
