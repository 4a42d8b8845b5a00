import { shortCount } from "../../base/short_count.ts";
import { clockText } from "../../protocol/clock_text.ts";
import { contextText } from "../../protocol/compacted_text.ts";
import type { Model } from "./model.ts";
import { doing, secondsText, workedMs } from "./turn.ts";
import { cut, type Line, type Span, type Style, width } from "./text.ts";

/** What the session does, in a word or two. */
export function activity(model: Model): { text: string; style: Style } {
  const { session, link } = model;
  if (link === "connecting") return { text: "connecting", style: "warning" };
  if (link === "reconnecting") {
    const text = session.paused_by_stop
      ? "the daemon has stopped; sending a message starts it"
      : "reconnecting";
    return { text, style: "error" };
  }
  if (session.state !== "running") return { text: session.state, style: "warning" };
  if (model.approvals.length > 0) return { text: "waiting for you", style: "warning" };
  if (session.turn && session.parked_until !== undefined) {
    const until = clockText(new Date(session.parked_until), new Date());
    return { text: `parked until ${until}`, style: "warning" };
  }
  return session.turn ? { text: "working", style: "success" } : { text: "ready", style: "dim" };
}

const HINTS: Record<Model["focus"], string> = {
  input: "? help",
  approval: "1, 2 or 3, then Enter",
  lanes: "Enter shows, k kills, Esc back",
  transcript: "arrows scroll, Esc back",
};

/** Frames of what moves while a turn works. */
const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** From one frame to the next. */
export const SPIN_MS = 500;

/** Columns around the text of a heading. */
const HEADING_COLS = 6;
/** What a turn does is cut to no less than this. */
const DOING_MIN = 8;

/** What the turn does, for how long, and the tokens of its models; empty at rest. */
export function turnText(model: Model, moves: boolean, cols: number): string {
  const { session, turn, now } = model;
  if (!session.turn || turn === undefined || session.parked_until !== undefined) return "";
  const mark = moves ? SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length] : "•";
  const tokens = turn.tokens > 0 ? [`${shortCount(turn.tokens)} tokens`] : [];
  const time = `${mark} ${secondsText(workedMs(model))}`;
  // A long command must not hide what comes after it.
  const room = cols - width([time, "", ...tokens].join(" · ")) - HEADING_COLS;
  return [time, cut(doing(model), Math.max(room, DOING_MIN)), ...tokens].join(" · ");
}

/** One line: what happens, what the keys do, and the session, as far as it fits. */
export function statusLine(model: Model, cols: number): Line {
  const { session, outbox, notice } = model;
  const first = activity(model);
  const queued = model.entries.filter(({ waits, delivery }) => waits && delivery === "queue");
  const texts = notice !== undefined ? [notice] : [
    model.vi?.mode ?? "",
    outbox.length > 0 ? `${outbox.length} to send` : "",
    model.focus === "approval" && model.approvals[0]?.asked ? "0 skips" : HINTS[model.focus],
    session.model,
    session.effort === "default" ? "" : `effort ${session.effort}`,
    `approval ${session.approval}`,
    session.branch ?? "",
    session.context ? contextText(session.context) : "",
    session.cost_usd > 0 ? `$${session.cost_usd.toFixed(4)}` : "",
    shortPath(session.workdir, model.home),
    queued.length > 0 ? `${queued.length} queued` : "",
    session.id,
  ];
  const out: Span[] = [{ text: `● ${first.text}`, style: first.style }];
  let left = cols - width(out[0].text);
  for (const text of texts) {
    const part = ` · ${text}`;
    if (text === "") continue;
    if (width(part) > left && notice === undefined) break;
    out.push({ text: part, style: notice === undefined ? "dim" : "warning" });
    left -= width(part);
  }
  return out;
}

/** A path, with `~` for the home directory. */
function shortPath(path: string, home: string): string {
  if (home === "" || path !== home && !path.startsWith(`${home}/`)) return path;
  return `~${path.slice(home.length)}`;
}
