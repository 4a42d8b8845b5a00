/**
 * Commands that only pass their input on, as after a pipe. Beside a command that a rule allows they
 * need no rule of their own: without the name of a file they read nothing else and write nothing.
 */
import type { Command } from "./programs.ts";

/** What may follow each name, its words joined by a line break. */
const FILTERS: Readonly<Record<string, RegExp>> = {
  cat: /^$/,
  column: /^(?:-t)?$/,
  cut: /^(?:-s|-[bcdf]\n?[^\n]+)(?:\n(?:-s|-[bcdf]\n?[^\n]+))*$/,
  egrep: /^(?:-[A-CEFGHPchinoqsvwx\d]+\n)*[^\n-][^\n]*$/,
  fgrep: /^(?:-[A-CEFGHPchinoqsvwx\d]+\n)*[^\n-][^\n]*$/,
  grep: /^(?:-[A-CEFGHPchinoqsvwx\d]+\n)*[^\n-][^\n]*$/,
  head: /^(?:-[nc]?\n?-?\d+)?$/,
  nl: /^$/,
  rev: /^$/,
  sort: /^(?:-[MVbdfghinrsu]+(?:\n-[MVbdfghinrsu]+)*)?$/,
  tac: /^$/,
  tail: /^(?:-[nc]?\n?[+-]?\d+)?$/,
  tr: /^(?:-[Ccdst]+\n)?[^\n-][^\n]*(?:\n[^\n]+)?$/,
  uniq: /^(?:-[cdiu]+(?:\n-[cdiu]+)*)?$/,
  wc: /^(?:-[Lclmw]+)?$/,
};

/** Reports whether a command is such a filter. */
export function isFilter({ words, assignments }: Command): boolean {
  const [name, ...rest] = words.map(({ text }) => text);
  if (assignments > 0 || words.some(({ dynamic }) => dynamic)) return false;
  if (rest.some((text) => text.includes("\n"))) return false;
  return Object.hasOwn(FILTERS, name) && FILTERS[name].test(rest.join("\n"));
}
