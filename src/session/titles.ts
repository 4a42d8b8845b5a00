/** The titles of sessions. Imports nothing of the daemon's: the web app folds events with it. */
import { HIDDEN, lazy } from "../base/hidden.ts";

/** Characters of a title that svc makes. */
const TITLE_MAX = 80;
/** What is looked at of a text for its title. */
const LOOKED_AT = 4_000;

const hidden = lazy(`[${HIDDEN}]`, "gu");

/** Reports whether a title is of the form that features give to work sessions. */
export function isWorkTitle(title: string): boolean {
  return /^(?:task t|mission m)-[0-9A-Z]{26}(?: |$)/.test(title);
}

/**
 * Makes a title of a text: its first line that says something, without what cannot be seen, shortened.
 *
 * @returns undefined when nothing is left of it, or it reads like the title of a work session.
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
