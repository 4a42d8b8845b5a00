import { shownTitle } from "../../session/titles.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import type { Model } from "./model.ts";
import { cleanLine } from "./text.ts";

/** Applies one event to the session's part of the status line. */
// fold-ok: the line below the input; view.ts says what is shown
export function applyToSession({ session, cost_seq }: Model, event: SessionEvent): void {
  switch (event.type) {
    case "session.created":
      session.title = cleanLine(shownTitle(event.data));
      session.workdir = cleanLine(event.data.workdir);
      session.model = cleanLine(event.data.model);
      session.approval = event.data.approval;
      break;
    case "session.titled":
      session.title = cleanLine(event.data.title);
      break;
    case "session.moved":
      session.workdir = cleanLine(event.data.workdir);
      break;
    case "session.configured": {
      const { model, approval, effort, title } = event.data;
      if (title !== undefined) session.title = cleanLine(title);
      if (model !== undefined) {
        session.model = cleanLine(model);
        session.context = undefined;
      }
      session.approval = approval ?? session.approval;
      session.effort = effort ?? session.effort;
      break;
    }
    case "turn.started":
    case "turn.continued":
      session.turn = true;
      session.parked_until = undefined;
      break;
    case "turn.parked":
      session.parked_until = event.data.until;
      break;
    case "turn.completed":
      session.turn = false;
      session.parked_until = undefined;
      break;
    case "cost.tick": {
      if (event.seq <= cost_seq) break;
      const { usd_delta, tokens_in, tokens_out, context_limit: limit } = event.data;
      session.cost_usd += usd_delta;
      if (limit !== undefined) session.context = { used: tokens_in + tokens_out, limit };
      break;
    }
    case "session.compacted":
      if (event.seq > cost_seq && session.context) {
        session.context = { ...session.context, used: event.data.tokens_after };
      }
      break;
    case "session.paused":
      session.state = "paused";
      session.paused_by_stop = event.data.reason === "daemon_shutdown";
      break;
    case "session.resumed":
      session.state = "running";
      session.paused_by_stop = false;
      break;
    case "session.ended":
      session.state = "ended";
      session.turn = false;
      break;
  }
}
