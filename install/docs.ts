/**
 * Writes the table of verbs and routes into README.md, between its two marks, from the registry.
 *
 *   deno task docs
 */
import { fromFileUrl } from "@std/path";
import { openApiPath } from "../src/doors/openapi.ts";
import type { Verb } from "../src/verbs/define.ts";
import { VERBS } from "../src/verbs/registry.ts";

const BEGIN = "<!-- verbs -->";
const END = "<!-- /verbs -->";
/** The formatter would pad its columns. */
const AS_IT_IS = ["<!-- deno-fmt-ignore-start -->", "<!-- deno-fmt-ignore-end -->"];

/** Where the table stands. */
export const README = fromFileUrl(new URL("../README.md", import.meta.url));

/**
 * Puts the table of verbs between the marks of a text.
 *
 * @throws {Error} when the marks are not there.
 */
export function withVerbs(text: string, verbs: readonly Verb[]): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`the text lacks ${BEGIN} … ${END}`);
  return `${text.slice(0, begin + BEGIN.length)}\n${verbTable(verbs)}\n${text.slice(end)}`;
}

function verbTable(verbs: readonly Verb[]): string {
  const rows = verbs.filter(({ internal }) => !internal).map(({ name, summary, rest }) => {
    const route = rest && `\`${rest.method} ${openApiPath(rest.path)}\` → ${rest.status}`;
    return `| \`${name}\` | ${summary.replaceAll("|", "\\|")} | ${route ?? ""} |`.replace(
      / +\|$/,
      " |",
    );
  });
  const [start, end] = AS_IT_IS;
  return [start, "| verb | what it does | REST |", "|---|---|---|", ...rows, end].join("\n");
}

if (import.meta.main) {
  await Deno.writeTextFile(README, withVerbs(await Deno.readTextFile(README), VERBS));
}
