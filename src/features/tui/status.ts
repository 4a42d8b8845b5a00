import { clockText } from "../../protocol/clock_text.ts";
import { contextText } from "../../protocol/compacted_text.ts";
import type { Model } from "./model.ts";
import { type Line, type Span, type Style, width } from "./text.ts";

/** What the session does, in a word or two. */
export function activity(model: Model): { text: string; style: Style } {
  const { session, link } = model;
  if (link === "connecting") return { text: "connecting", style: "yellow" };
  if (link === "reconnecting") {
    const text = session.paused_by_stop
      ? "the daemon has stopped; sending a message starts it"
      : "reconnecting";
    return { text, style: "red" };
  }
  if (session.state !== "running") return { text: session.state, style: "yellow" };
  if (model.approvals.length > 0) return { text: "waiting for you", style: "yellow" };
  if (session.turn && session.parked_until !== undefined) {
    const until = clockText(new Date(session.parked_until), new Date());
    return { text: `parked until ${until}`, style: "yellow" };
  }
  return session.turn ? { text: "working", style: "green" } : { text: "ready", style: "dim" };
}

const HINTS: Record<Model["focus"], string> = {
  input: "? help",
  approval: "1, 2 or 3, then Enter",
  lanes: "Enter shows, k kills, Esc back",
  transcript: "arrows scroll, Esc back",
};

/** One line: what happens, in which session, and what the keys do, as far as it fits. */
export function statusLine(model: Model, cols: number): Line {
  const { session, outbox, notice } = model;
  const first = activity(model);
  const { workdir } = session;
  const texts = notice !== undefined ? [notice] : [
    model.vi?.mode ?? "",
    outbox.length > 0 ? `${outbox.length} to send` : "",
    model.focus === "approval" && model.approvals[0]?.asked ? "0 skips" : HINTS[model.focus],
    session.model,
    `approval ${session.approval}`,
    session.context ? contextText(session.context) : "",
    session.cost_usd > 0 ? `$${session.cost_usd.toFixed(4)}` : "",
    workdir,
    session.id,
  ];
  const out: Span[] = [{ text: `● ${first.text}`, style: first.style }];
  let left = cols - width(out[0].text);
  for (const text of texts) {
    const part = ` · ${text}`;
    if (text === "") continue;
    if (width(part) > left && notice === undefined) break;
    out.push({ text: part, style: notice === undefined ? "dim" : "yellow" });
    left -= width(part);
  }
  return out;
}
