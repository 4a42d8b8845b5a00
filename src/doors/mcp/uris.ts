/** URIs of resources, such as `svc://sessions/{session_id}`. */
import { SvcError } from "../../protocol/errors.ts";
import type { Verb } from "../../verbs/define.ts";

/** A list of resources of one kind. */
export interface Collection {
  readonly name: "sessions" | "missions" | "tasks";
  /** Parameter for an item's id. */
  readonly param: "session_id" | "mission_id" | "task_id";
  /** Verbs for the list and for one item. */
  readonly list: string;
  readonly get: string;
}

export const COLLECTIONS: readonly Collection[] = [
  { name: "sessions", param: "session_id", list: "session.list", get: "session.get" },
  { name: "missions", param: "mission_id", list: "mission.list", get: "mission.get" },
  { name: "tasks", param: "task_id", list: "task.list", get: "task.get" },
];

/** Resources below a session's URI. */
export const SESSION_PARTS = ["transcript", "journal"] as const;

type Address =
  | { kind: "list"; collection: Collection }
  | { kind: "one"; collection: Collection; id: string }
  | { kind: "transcript"; session_id: string }
  | { kind: "journal"; session_id: string; since_seq?: number }
  | { kind: "lane"; session_id: string; lane_id: string };

/** URI of a collection, an item, or a part of it. */
export function uri(collection: Collection["name"], ...parts: string[]): string {
  return [`svc://${collection}`, ...parts.map(encodeURIComponent)].join("/");
}

/** Collections whose verbs exist. */
export function collectionsOf(verbs: ReadonlyMap<string, Verb>): Collection[] {
  return COLLECTIONS.filter(({ list, get }) => verbs.has(list) && verbs.has(get));
}

/** @throws {SvcError} not_found for an unknown URI; validation for an invalid since_seq */
export function parseUri(text: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const collection = url?.protocol === "svc:"
    ? COLLECTIONS.find(({ name }) => name === url.host)
    : undefined;
  const [id, part, lane_id, ...rest] = url?.pathname.split("/").slice(1).map(decode) ?? [];
  if (url === undefined || collection === undefined || rest.length > 0) throw unknown(text);
  if (id === undefined) return { kind: "list", collection };
  if (part === undefined) return { kind: "one", collection, id };
  if (collection.name === "sessions") {
    const session_id = id;
    if (part === "lanes" && lane_id !== undefined) return { kind: "lane", session_id, lane_id };
    if (part === "transcript" && lane_id === undefined) return { kind: "transcript", session_id };
    if (part === "journal" && lane_id === undefined) {
      return { kind: "journal", session_id, since_seq: sinceSeq(url) };
    }
  }
  throw unknown(text);
}

function sinceSeq(url: URL): number | undefined {
  const text = url.searchParams.get("since_seq");
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new SvcError("validation", `since_seq must be a seq, got ${JSON.stringify(text)}`);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function unknown(text: string): SvcError {
  return new SvcError("not_found", `there is no resource ${JSON.stringify(text)}`, {
    hint: "resources/list and resources/templates/list show the available resources",
  });
}
