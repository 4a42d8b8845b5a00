/** Resources: sessions with transcripts and journals, tasks, missions. */
import type {
  ReadResourceResult,
  Resource,
  ResourceTemplate,
} from "@modelcontextprotocol/sdk/types";
import { SvcError } from "../../protocol/errors.ts";
import { type Calling, callVerb, runVerb } from "../call.ts";
import { type Collection, collectionsOf, parseUri, uri } from "./uris.ts";

/** Sessions per page. */
const PAGE = 50;
/** Approximate limit of a transcript's characters. */
const TEXT_MAX = 1024 * 1024;
/** Records of a journal in one answer: limit and default. */
const RECORDS_MAX = 2_000;
const RECORDS = 200;
const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";

type Content = ReadResourceResult["contents"][number];

/** Lists fixed resources and those of sessions, newest session first. */
export async function listResources(
  calling: Calling,
  cursor: string | undefined,
): Promise<{ resources: Resource[]; nextCursor?: string }> {
  const all = { include_ended: true, include_archived: true };
  const sessions = (await callVerb("session.list", all, calling)).sessions.toReversed();
  const start = cursor === undefined ? 0 : sessions.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && start === 0) {
    throw new SvcError("validation", `invalid cursor ${JSON.stringify(cursor)}`, {
      hint: "list again from the start",
    });
  }
  const page = sessions.slice(start, start + PAGE);
  const lists = cursor === undefined
    ? collectionsOf(calling.dispatcher.verbs).map(listResource)
    : [];
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

export function resourceTemplates({ dispatcher }: Pick<Calling, "dispatcher">): ResourceTemplate[] {
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

/** Reads a resource. @throws {SvcError} not_found, validation, and any error of its verb */
export async function readResource(address: string, calling: Calling): Promise<Content> {
  const at = parseUri(address);
  const json = async (verb: string, params: Record<string, unknown>): Promise<Content> => ({
    uri: address,
    mimeType: JSON_TYPE,
    text: JSON.stringify(await runVerb(verb, params, calling)),
  });
  switch (at.kind) {
    case "list":
      return await json(at.collection.list, {});
    case "one":
      return await json(at.collection.get, { [at.collection.param]: at.id });
    case "lane":
      return await json("lanes.get", { session_id: at.session_id, lane_id: at.lane_id });
    case "transcript":
      return { uri: address, mimeType: JSON_TYPE, text: await transcript(at.session_id, calling) };
    case "journal":
      return { uri: address, mimeType: NDJSON_TYPE, ...await journal(at, calling) };
  }
}

async function transcript(session_id: string, calling: Calling): Promise<string> {
  const found = await callVerb("session.transcript", { session_id }, calling);
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
  calling: Calling,
): Promise<{ text: string; _meta: Record<string, unknown> }> {
  const asked = { session_id, since_seq, limit: since_seq === undefined ? RECORDS : RECORDS_MAX };
  const { lines, last_seq, more } = await callVerb("session.journal", asked, calling);
  const next = `${uri("sessions", session_id, "journal")}?since_seq=${last_seq}`;
  return {
    text: lines.map((line) => `${line}\n`).join(""),
    _meta: { last_seq, ...(more && { next }) },
  };
}
