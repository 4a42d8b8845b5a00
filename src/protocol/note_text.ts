/** Describes what happens to a session, for people. */
import { addedDirectoriesText } from "./added_directory.ts";
import { clockText } from "./clock_text.ts";
import type { Delivery, EventData } from "./events.ts";
import { stopLabel } from "./stop_reasons.ts";

export const TURN_CONTINUED = "the turn goes on";
export const EARLIER_GONE = "earlier messages are no longer stored";
export const SESSION_RESUMED = "the session was resumed";

/** `turn budget: the limit of 3 steps is reached` */
export function turnEndText({ stop_reason, error }: TurnEnd): string {
  return `turn ${stop_reason}${error ? `: ${error}` : ""}`;
}

/** The same for people who do not know svc's names. */
export function turnEndSentence({ stop_reason, error }: TurnEnd): string {
  return `${stopLabel(stop_reason)}${error ? `: ${error}` : ""}`;
}

export type TurnEnd = Pick<EventData["turn.completed"], "stop_reason" | "error">;

export function pausedText({ reason }: EventData["session.paused"]): string {
  return reason === "operator"
    ? "the session was paused"
    : "the session was paused, because the daemon stopped";
}

/** `parked until 15:04, then the turn goes on by itself: work answered 429: quota used up` */
export function parkedText(
  { data: { until, reason }, at }: {
    data: Pick<EventData["turn.parked"], "until" | "reason">;
    at: string;
  },
): string {
  const time = clockText(new Date(until), new Date(at));
  return `parked until ${time}, then the turn goes on by itself: ${reason}`;
}

/** The same for a client that comes later; undefined if no turn is parked. */
export function parkedNow(
  { parked_until: until, parked_reason: reason = "" }: {
    parked_until?: string;
    parked_reason?: string;
  },
): string | undefined {
  if (until === undefined) return undefined;
  return parkedText({ data: { until, reason }, at: new Date().toISOString() });
}

export function movedText({ workdir, from, by, replaced }: EventData["session.moved"]): string {
  if (workdir === from) {
    return `another directory is at ${from} than before, with the session's journal; ` +
      "the session goes on in it";
  }
  const now = by === "svc"
    ? `the directory ${from} was moved; the session goes on in ${workdir}`
    : `the session now works in ${workdir}, before in ${from}`;
  return replaced ? `${now}. Another directory is at ${from} now` : now;
}

export function deliveryText(delivery: Delivery): string {
  return delivery === "steer"
    ? "the model reads this at its next step"
    : "this waits for the next turn";
}

/** Characters of a message in its note. */
const TAKEN_BACK_MAX = 300;

export function takenBackText(text: string): string {
  const begin = text.replace(/\s+/g, " ").trim();
  const cut = begin.slice(0, TAKEN_BACK_MAX).toWellFormed();
  return `message taken back: ${cut === begin ? begin : `${cut}…`}`;
}

export function endedText({ reason }: EventData["session.ended"]): string {
  return `the session has ended (${reason})`;
}

export function reloadedText({ version }: EventData["daemon.reloaded"]): string {
  return `the daemon was restarted (${version})`;
}

/** Returns the line for changed settings. */
export function configuredText(
  { model, approval, effort, budget_usd, title, pinned, archived, added_dirs, network }: EventData[
    "session.configured"
  ],
): string {
  const budget = budget_usd === undefined ? undefined : `$${budget_usd}`;
  const marks = [
    ...(pinned === undefined ? [] : [pinned ? "pinned" : "no longer pinned"]),
    ...(archived === undefined ? [] : [archived ? "archived" : "no longer archived"]),
    ...(added_dirs === undefined
      ? []
      : [`added directories are now ${addedDirectoriesText(added_dirs)}`]),
  ];
  const values = Object.entries({ model, approval, effort, network, budget, title })
    .flatMap(([name, value]) => value === undefined ? [] : `${name} is now ${value}`);
  return [...values, ...marks].join(", ");
}

/** Kept files in the line for a rewind. */
const KEPT_SHOWN = 5;

/** Returns the line for a rewind. */
export function rewoundText(
  { files, conversation, undo_of, only }: EventData["session.rewound"],
): string {
  const changed = files === undefined ? [] : [changedText(files.changed, only?.path)];
  const said = conversation === undefined ? [] : ["the conversation"];
  const what = [...changed, ...said].join(" and ");
  const kept = files?.kept === undefined ? "" : keptText(files.kept, files.kept_count);
  return (undo_of === undefined ? `undone: ${what}` : `done again: ${what}`) + kept;
}

function keptText(paths: readonly string[], count = paths.length): string {
  const shown = paths.slice(0, KEPT_SHOWN).join(", ");
  const more = count > KEPT_SHOWN ? ` and ${count - KEPT_SHOWN} more` : "";
  return `; kept, because somebody else changed them: ${shown}${more}`;
}

function changedText(changed: number, path: string | undefined): string {
  return path !== undefined && changed > 0 ? `changes of ${path}` : filesText(changed);
}

function filesText(changed: number): string {
  if (changed === 0) return "no changes of files";
  return changed === 1 ? "changes of 1 file" : `changes of ${changed} files`;
}

const DECIDED = { allow: "allowed", ask: "asks about", deny: "denied" } as const;

/** One line about a hook's run; parts of it may come from the operator's program. */
export function hookText(
  { on, program, decision, reason, args, context, problem }: EventData["hook.ran"],
): string {
  const call = on.startsWith("tool.") ? "a call" : on;
  const did = problem ?? (decision && `${DECIDED[decision]} ${call}`) ??
    (args !== undefined
      ? `changed ${call}`
      : context === undefined
      ? "ran"
      : "told the model something");
  return `hook ${program}: ${did}${reason === undefined ? "" : `: ${reason}`}`;
}
