/** Looking for an earlier message of the person, with Ctrl-R. */
import type { Effect } from "./effect.ts";
import type { Key } from "./keys.ts";
import type { FoundMessage, Model, Search } from "./model.ts";
import { cleanLine, cut, graphemes, type Line, line, width } from "./text.ts";

const QUERY_MAX = 200;

/** A result of session.search, as far as it is shown. */
export type FoundResult = Omit<FoundMessage, "text"> & { text?: string };

/** Handles a key of the search. */
export function inSearch(model: Model, search: Search, key: Key): Effect[] {
  if (key.type !== "named") {
    return ask(search, search.query + cleanLine(key.text.replace(/\s+/g, " ")));
  }
  switch (key.name) {
    case "escape":
    case "ctrl-c":
    case "ctrl-g":
      model.search = undefined;
      return [];
    case "enter":
    case "tab": {
      const found = search.found[search.at];
      model.search = undefined;
      if (found === undefined) return [];
      const { session_id, seq } = found;
      return [{ type: "take_found", session_id, seq }];
    }
    case "ctrl-r":
    case "up":
      search.at = Math.min(search.at + 1, Math.max(search.found.length - 1, 0));
      return [];
    case "ctrl-s":
    case "down":
      search.at = Math.max(search.at - 1, 0);
      return [];
    case "backspace":
    case "ctrl-h":
      return ask(search, graphemes(search.query).slice(0, -1).join(""));
    case "ctrl-w":
    case "alt-backspace":
      return ask(search, search.query.replace(/\S*\s*$/, ""));
    case "ctrl-u":
      return ask(search, "");
  }
  return [];
}

function ask(search: Search, query: string): Effect[] {
  search.query = query.slice(0, QUERY_MAX).toWellFormed();
  search.waits = true;
  search.at = 0;
  return [{ type: "search", query: search.query }];
}

/** Takes what was found, each message once. @param first whether it is the first for its query */
export function addFound(search: Search, results: readonly FoundResult[], first: boolean): void {
  if (first) search.found = [];
  search.waits = first;
  const shown = new Set(search.found.map(({ text }) => text));
  for (const { session_id, seq, text = "" } of results) {
    const clean = cleanLine(text).trim();
    if (clean === "" || shown.has(clean)) continue;
    shown.add(clean);
    search.found.push({ session_id, seq, text: clean });
  }
  search.at = Math.min(search.at, Math.max(search.found.length - 1, 0));
}

const PROMPT = "search: ";

/** Returns the rows of the search: what was typed, then what was found, the chosen one marked. */
export function searchRows(
  { query, found, at, waits }: Search,
  cols: number,
  height: number,
): { rows: Line[]; row: number; col: number } {
  const prompt = cols > 30 ? PROMPT : "";
  const typed = tail(query, cols - prompt.length - 1);
  const room = Math.max(height - 1, 0);
  const first = Math.max(Math.min(at - Math.floor(room / 2), found.length - room), 0);
  const rows = found.slice(first, first + room).map(({ text }, n): Line => {
    const here = first + n === at;
    return line(cut(`${here ? "▸" : " "} ${text}`, cols), here ? "bold" : "dim");
  });
  if (rows.length === 0 && room > 0) {
    rows.push(line(cut(waits ? "  …" : "  nothing found", cols), "dim"));
  }
  return {
    rows: [line(`${prompt}${typed}`), ...rows],
    row: 0,
    col: Math.min(prompt.length + width(typed), cols - 1),
  };
}

/** The end of a text that fits. */
function tail(text: string, cols: number): string {
  let kept = text;
  while (kept !== "" && width(kept) > cols) kept = graphemes(kept).slice(1).join("");
  return kept;
}
