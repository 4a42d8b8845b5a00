import * as z from "zod";
import type { Hub } from "../../session/hub.ts";
import { pushChannel, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Drafts } from "./drafts.ts";
import { DRAFT_MAX } from "./limits.ts";

interface DraftServices {
  readonly hub: Hub;
  /** Loaded on first use. */
  drafts(): Promise<Drafts>;
}

const defineVerb = verbsOf<DraftServices>();

const of_session = () => z.object({ session_id: session_id() });

export const draftVerbs = [
  defineVerb({
    name: "draft.get",
    summary: "Shows the message that a person is writing for a session.",
    access: "read",
    input: of_session,
    output: () => z.object({ text: z.string().describe("Empty without a draft") }),
    async handle({ services }, { session_id }) {
      await services.hub.get(session_id);
      return { text: (await services.drafts()).get(session_id) };
    },
  }),
  defineVerb({
    name: "draft.set",
    summary: "Keeps the message that a person is writing for a session, until it is sent.",
    access: "write",
    idempotent: true,
    input: () =>
      of_session().extend({
        text: z.string().max(DRAFT_MAX).describe("Empty removes the draft"),
        writer: z.string().max(128).optional()
          .describe("Is in the event of this change, so that the writer knows its own"),
      }),
    output: () => z.object({}),
    async handle({ services }, { session_id, ...change }) {
      const { state } = await services.hub.get(session_id);
      // Nothing can be sent to an ended session.
      if (state.state !== "ended") (await services.drafts()).set(session_id, change);
      return {};
    },
  }),
  defineVerb({
    name: "draft.follow",
    summary: "Streams the changes of a session's draft as $/event notifications.",
    access: "read",
    input: of_session,
    output: () => z.object({ sub: z.int(), text: z.string().describe("The present draft") }),
    async handle({ services, caller }, { session_id }) {
      const push = pushChannel(
        caller,
        "draft.follow",
        "use the local socket or a WebSocket, or poll draft.get",
      );
      await services.hub.get(session_id);
      const drafts = await services.drafts();
      const sub = push.open((deliver) => drafts.follow(session_id, deliver));
      return { sub, text: drafts.get(session_id) };
    },
  }),
];
