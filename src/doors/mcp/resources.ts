/** The resources for MCP clients: sessions with their transcripts and journals, tasks, missions. */
import type {
  ReadResourceResult,
  Resource,
  ResourceTemplate,
} from "@modelcontextprotocol/sdk/types";
import { SvcError } from "../../protocol/errors.ts";
import type { Hub } from "../../session/hub.ts";
import { type Call, type Caller, type Dispatcher, Prepared } from "../../verbs/define.ts";
import { type Collection, collectionsOf, parseUri, uri } from "./uris.ts";

/** Sessions on one page of the list. */
const PAGE = 50;
/** The most characters in one answer, approximately. */
const TEXT_MAX = 1024 * 1024;
/** The most records of a journal in one answer, and the default. */
const RECORDS_MAX = 2_000;
const RECORDS = 200;

const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";

/** Reads resources for one client. */
export interface Reader {
  dispatcher: Dispatcher;
  hub: Hub;
  caller: Caller;
  call: Call;
}

type Content = ReadResourceResult["contents"][number];

/** Lists the fixed resources and those of the sessions, newest session first. */
export async function listResources(
  { dispatcher, hub }: Pick<Reader, "dispatcher" | "hub">,
  cursor: string | undefined,
): Promise<{ resources: Resource[]; nextCursor?: string }> {
  const sessions = (await hub.list(true)).toReversed();
  const start = cursor === undefined ? 0 : sessions.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && start === 0) {
    throw new SvcError("validation", `invalid cursor ${JSON.stringify(cursor)}`, {
      hint: "list again from the start",
    });
  }
  const page = sessions.slice(start, start + PAGE);
  const lists = cursor === undefined ? collectionsOf(dispatcher.verbs).map(listResource) : [];
  const more = start + PAGE < sessions.length;
  return {
    resources: [...lists, ...page.flatMap(sessionResources)],
    ...(more && { nextCursor: page.at(-1)!.id }),
  };
}

function listResource({ name }: Collection): Resource {
  return { uri: uri(name), name, description: `All ${name}`, mimeType: JSON_TYPE };
}

function sessionResources({ id, title, workdir }: { id: string; title: string; workdir: string }) {
  const of = `${title} (${workdir})`;
  return [
    {
      uri: uri("sessions", id),
      name: id,
      title: `Session: ${of}`,
      mimeType: JSON_TYPE,
    },
    {
      uri: uri("sessions", id, "transcript"),
      name: `${id} transcript`,
      title: `Transcript: ${of}`,
      mimeType: JSON_TYPE,
    },
    {
      uri: uri("sessions", id, "journal"),
      name: `${id} journal`,
      title: `Journal: ${of}`,
      mimeType: NDJSON_TYPE,
    },
  ];
}

/** Lists the resource templates. */
export function resourceTemplates({ dispatcher }: Pick<Reader, "dispatcher">): ResourceTemplate[] {
  return [
    ...collectionsOf(dispatcher.verbs).map(({ name, param }) => ({
      uriTemplate: `svc://${name}/{${param}}`,
      name: name.slice(0, -1),
      description: `One of the ${name}`,
      mimeType: JSON_TYPE,
    })),
    {
      uriTemplate: "svc://sessions/{session_id}/transcript",
      name: "transcript",
      description: "The conversation of a session; if it is long, its last part",
      mimeType: JSON_TYPE,
    },
    {
      uriTemplate: "svc://sessions/{session_id}/journal{?since_seq}",
      name: "journal",
      description:
        `Records of a session's journal: the last ${RECORDS}, or those after since_seq, ` +
        `at most ${RECORDS_MAX}; _meta.next is the address of the next ones`,
      mimeType: NDJSON_TYPE,
    },
    {
      uriTemplate: "svc://sessions/{session_id}/lanes/{lane_id}",
      name: "lane",
      description: "A lane of a session and the end of its output",
      mimeType: JSON_TYPE,
    },
  ];
}

/**
 * Reads a resource.
 *
 * @throws {SvcError} not_found, validation, and any error of its verb
 */
export async function readResource(address: string, reader: Reader): Promise<Content> {
  const at = parseUri(address);
  const json = async (verb: string, params: Record<string, unknown>): Promise<Content> => ({
    uri: address,
    mimeType: JSON_TYPE,
    text: JSON.stringify(await runVerb(verb, params, reader)),
  });
  switch (at.kind) {
    case "list":
      return await json(at.collection.list, {});
    case "one":
      return await json(at.collection.get, { [at.collection.param]: at.id });
    case "lane":
      return await json("lanes.get", { session_id: at.session_id, lane_id: at.lane_id });
    case "transcript":
      return { uri: address, mimeType: JSON_TYPE, text: await transcript(at.session_id, reader) };
    case "journal":
      return { uri: address, mimeType: NDJSON_TYPE, ...await journal(at, reader) };
  }
}

/**
 * Runs a verb by its name, like a tool.
 *
 * @throws {SvcError} not_found when it does not exist, and any error of the verb
 */
export async function runVerb(
  name: string,
  params: Record<string, unknown>,
  { dispatcher, caller, call }: Reader,
): Promise<unknown> {
  const verb = dispatcher.verbs.get(name);
  if (verb === undefined) throw new SvcError("not_found", `there is no ${name}`);
  const result = await dispatcher.run(verb, params, caller, call);
  return result instanceof Prepared ? result.value : result;
}

async function transcript(session_id: string, reader: Reader): Promise<string> {
  const found = await runVerb("session.transcript", { session_id }, reader) as {
    messages: unknown[];
    left_out: number;
    seq: number;
  };
  const { messages, left_out, seq } = found;
  const kept: string[] = [];
  let size = 0;
  for (const message of messages.toReversed()) {
    const text = JSON.stringify(message);
    if (kept.length > 0 && size + text.length > TEXT_MAX) break;
    kept.unshift(text);
    size += text.length;
  }
  const omitted = left_out + messages.length - kept.length;
  return `{"session_id":"${session_id}","seq":${seq},"omitted":${omitted},"messages":[${kept}]}`;
}

async function journal(
  { session_id, since_seq }: { session_id: string; since_seq?: number },
  { hub, call }: Reader,
): Promise<{ text: string; _meta: Record<string, unknown> }> {
  const session = await hub.get(session_id);
  const { published_seq } = session;
  const lines: string[] = [];
  let last_seq = since_seq ?? Math.max(published_seq - RECORDS, 0);
  let size = 0;
  for await (const { event, line } of session.journal.records(last_seq)) {
    call.signal.throwIfAborted();
    // An event that is written but not yet published may still be taken back.
    if (event.seq > published_seq || lines.length === RECORDS_MAX) break;
    if (lines.length > 0 && size + line.length > TEXT_MAX) break;
    lines.push(line);
    size += line.length;
    last_seq = event.seq;
  }
  const next = `${uri("sessions", session_id, "journal")}?since_seq=${last_seq}`;
  return {
    text: lines.map((line) => `${line}\n`).join(""),
    _meta: { last_seq, ...(last_seq < published_seq && { next }) },
  };
}
