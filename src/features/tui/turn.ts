/** The running turn: since when it runs, without the time it waited for the person, and what it does. */
import { elapsedText } from "../../base/elapsed.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { reads, readsText } from "./call_words.ts";
import type { Entry, Model } from "./model.ts";

/** Applies one event to the running turn. The pending questions are as after it. */
// fold-ok: the clock of the turn, which only terminals show
export function applyToTurn(model: Model, event: SessionEvent): void {
  const at = Date.parse(event.at);
  if (Number.isNaN(at)) return;
  model.now = Math.max(model.now, at);
  switch (event.type) {
    case "turn.started":
    case "turn.continued":
      model.turn = { began_at: at, waited_ms: 0, tokens: 0 };
      break;
    case "turn.completed":
    case "session.ended":
      model.turn = undefined;
      break;
    case "cost.tick":
      if (model.turn !== undefined) model.turn.tokens += event.data.tokens_out;
      break;
  }
  const { turn, session, approvals } = model;
  if (turn === undefined) return;
  const waits = approvals.length > 0 || session.parked_until !== undefined;
  if (waits) turn.waits_from ??= at;
  else if (turn.waits_from !== undefined) {
    turn.waited_ms += Math.max(at - turn.waits_from, 0);
    turn.waits_from = undefined;
  }
}

/** How long the turn has worked, in milliseconds. */
export function workedMs({ turn, now }: Pick<Model, "turn" | "now">): number {
  if (turn === undefined) return 0;
  return Math.max((turn.waits_from ?? now) - turn.began_at - turn.waited_ms, 0);
}

/** A duration in whole seconds: `12 s`, `2 min 5 s`. */
export function secondsText(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : elapsedText(ms);
}

/** Reports whether a turn works now, without waiting for anything. */
export function works({ session, approvals, link }: Model): boolean {
  return session.turn && session.state === "running" && link === "connected" &&
    session.parked_until === undefined && approvals.length === 0;
}

/** What the turn does: `runs cargo test`, `reads 3 files`, `thinks`. */
export function doing({ entries, approvals }: Pick<Model, "entries" | "approvals">): string {
  if (approvals.length > 0) return "waits for you";
  const running = runningCalls(entries);
  if (running.length > 0) {
    const tools = running.map(({ tool = "" }) => tool);
    if (running.length > 1 && tools.every(reads)) return `reads ${readsText(tools)}`;
    const [first, ...others] = running;
    return `${first.doing}${others.length > 0 ? ` and ${others.length} more` : ""}`;
  }
  return entries.at(-1)?.kind === "assistant" ? "writes" : "thinks";
}

function runningCalls(entries: readonly Entry[]): Entry[] {
  const running: Entry[] = [];
  for (let at = entries.length - 1; at >= 0 && entries[at].kind !== "user"; at--) {
    if (entries[at].kind === "call" && entries[at].ok === undefined) running.unshift(entries[at]);
  }
  return running;
}
