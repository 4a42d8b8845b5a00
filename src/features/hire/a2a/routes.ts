/** The routes of A2A on surface B: its endpoints, and the agent cards that lead to them. */
import type { Context, Hono } from "hono";
import { bodyText, requireJson } from "../../../net/answers.ts";
import type { Log } from "../../../os/log.ts";
import { SvcError } from "../../../protocol/errors.ts";
import { BODY_MAX } from "../body_max.ts";
import type { Calling } from "../../../verbs/call.ts";
import { callHire } from "../calls.ts";
import {
  A2A_PATH,
  A2A_VERSIONS,
  type A2aVersion,
  CARD_PATH,
  cardFor,
  OLD_CARD_PATH,
  VERSION_PARAMETER,
} from "./card.ts";
import { cardResponse } from "./card_response.ts";
import type { Drafts } from "./drafts.ts";
import { refusalResponse } from "./refusal.ts";

export interface A2aRoutes {
  drafts: Drafts;
  log: Log;
  /** Whether the daemon is stopping and accepts no new tasks. */
  stopping(): boolean;
  /** Calls verbs for an unidentified client. */
  anyone(c: Context): Calling;
  /** Identifies the caller. @throws {SvcError} unauthenticated. */
  calling(c: Context): Calling;
  /** Returns the address of surface B for a client, without a trailing slash. */
  baseUrl(c: Context): string;
  /** Returns the error of a request, logged if the request did not cause it. */
  toFault(c: Context, thrown: unknown): SvcError;
}

/** The media types of requests; the second is registered for A2A. */
const TYPES = ["application/json", "application/a2a+json"];

interface Place {
  path: string;
  pinned?: A2aVersion;
}

/** An endpoint for any version, and one for each version alone. */
const BASES: Place[] = [
  { path: A2A_PATH },
  ...A2A_VERSIONS.map((pinned) => ({ path: `${A2A_PATH}/${pinned}`, pinned })),
];
const ENDPOINTS = withSlash(BASES);
/** The places of cards: at the root, and below each endpoint. */
const CARDS = withSlash(
  [{ path: "" }, ...BASES].flatMap(({ path, ...more }) =>
    [CARD_PATH, OLD_CARD_PATH].map((card) => ({ ...more, path: `${path}${card}` }))
  ),
);

/** Clients that join addresses themselves often leave a trailing slash. */
function withSlash(places: readonly Place[]): Place[] {
  return places.flatMap(({ path, ...more }) => [{ path, ...more }, { path: `${path}/`, ...more }]);
}

/** The paths of A2A, and the method that each supports. */
export const A2A_METHODS: Readonly<Record<string, string>> = Object.fromEntries([
  ...CARDS.map(({ path }) => [path, "GET"]),
  ...ENDPOINTS.map(({ path }) => [path, "POST"]),
]);

/** Adds the routes to surface B. */
export function addA2aRoutes(app: Hono, routes: A2aRoutes): void {
  const { drafts, log, stopping, anyone, calling, baseUrl, toFault } = routes;
  const opened_at = new Date();
  for (const { path, pinned } of CARDS) {
    app.get(path, async (c) => {
      const offer = await callHire("hire.capabilities", {}, anyone(c));
      const card = cardFor({ ...offer, base_url: baseUrl(c) }, { asked: askedVersion(c), pinned });
      return await cardResponse(card, c.req.raw, opened_at);
    });
  }
  for (const { path, pinned } of ENDPOINTS) {
    app.post(path, async (c) => {
      let text = "";
      try {
        const its = calling(c);
        if (stopping()) throw new SvcError("shutting_down", "the daemon is stopping");
        text = await bodyText(c.req.raw, BODY_MAX).catch((error) => {
          // A compressed body is not text.
          requireJson(c.req.raw, TYPES);
          throw error;
        });
        requireJson(c.req.raw, TYPES);
        const { answerA2a } = await import("./endpoint.ts");
        return await answerA2a({ drafts, log }, {
          text,
          calling: its,
          takes_events: /text\/event-stream/i.test(c.req.header("accept") ?? ""),
          version: { asked: askedVersion(c), pinned },
          base_url: baseUrl(c),
        });
      } catch (thrown) {
        return refusalResponse(toFault(c, thrown), text);
      }
    });
  }
}

function askedVersion(c: Context): string | undefined {
  return c.req.header(VERSION_PARAMETER) ?? c.req.query(VERSION_PARAMETER);
}
