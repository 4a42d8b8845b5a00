/** Titles of sessions. Must not import the daemon: the web app uses it. */
import { HIDDEN, lazy } from "../base/hidden.ts";

/** In characters. */
const TITLE_MAX = 80;
/** Characters of a text to look at. */
const LOOKED_AT = 4_000;

const hidden = lazy(`[${HIDDEN}]`, "gu");

/** Returns the id of the task or mission that a session works for, by the title it is given. */
export function workOf(title: string): string | undefined {
  return /^(?:task (?=t)|mission (?=m))([tm]-[0-9A-Z]{26})(?: |$)/.exec(title)?.[1];
}

/** Whether a title has the form that features give to work sessions. */
export function isWorkTitle(title: string): boolean {
  return workOf(title) !== undefined;
}

/** The title that people see: what a work session is about, if that was recorded. */
export function shownTitle({ title, goal }: { title: string; goal?: string }): string {
  return goal ?? title;
}

/** Whether a title is that of a task's session. */
export function isTaskTitle(title: string): boolean {
  return isWorkTitle(title) && title.startsWith("task ");
}

/**
 * Makes a title from a text's first line with letters or digits, without hidden characters.
 *
 * @returns undefined when there is none, or it looks like the title of a work session
 */
export function titleOf(text: string): string | undefined {
  for (const line of text.slice(0, LOOKED_AT).split(/[\n\r\u2028\u2029]/)) {
    const clean = line.replaceAll(/\s/g, " ").replaceAll(hidden(), "").replaceAll(/ +/g, " ")
      .trim();
    if (!/[\p{L}\p{N}]/u.test(clean)) continue;
    if (isWorkTitle(clean)) return undefined;
    const characters = Array.from(clean);
    if (characters.length <= TITLE_MAX) return clean;
    return `${characters.slice(0, TITLE_MAX - 1).join("").trimEnd()}…`;
  }
}
