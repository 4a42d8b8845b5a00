/**
 * Checks that the shell snippets of README and docs can run: bash reads them, svc has the commands
 * and flags, and the verbs take the parameters.
 *
 *   deno run --allow-read --allow-env --allow-run=bash install/snippets.ts
 *
 * It runs none of them: tests/integration/snippets_test.ts does.
 */
import { fromFileUrl, join, relative } from "@std/path";
import { walk } from "@std/fs";
import { parse as parseJsonc } from "@std/jsonc";
import * as z from "zod";
import { wholeTable } from "../src/cli/commands.ts";
import { parse } from "../src/cli/parse.ts";
import { formerName } from "../src/cli/run.ts";
import { messageOf } from "../src/protocol/errors.ts";
import { VERBS } from "../src/features/registry.ts";
import { parseLine } from "../src/features/permissions/shell.ts";

export interface Block {
  language: string;
  /** The page's line of its first line, from 1. */
  line: number;
  text: string;
}

/** A block of shell commands. */
export interface Snippet {
  line: number;
  script: string;
}

const FENCE = /^( *)```(\w*)\n([\s\S]*?)^ *```$/gm;

/** Returns the blocks of code of a page, in order. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(FENCE)].map((match) => {
    const [, indent, language, text] = match;
    return {
      language,
      line: page.slice(0, match.index).split("\n").length + 1,
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

/** Returns the shell snippets of a page, in order. */
export function snippetsOf(page: string): Snippet[] {
  return blocksOf(page).filter(({ language }) => language === "sh")
    .map(({ line, text }) => ({ line, script: text }));
}

/** A snippet that cannot run as it stands. */
export interface Broken {
  file: string;
  line: number;
  reason: string;
}

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** Words of the shell that may stand before a command. */
const KEYWORDS: ReadonlySet<string> = new Set(["if", "then", "else", "do", "while", "until", "!"]);
/** How the pages call svc: by its name, from `dist`, and in a clone. */
const SVC: readonly (readonly string[])[] = [["svc"], ["dist/svc"], ["sh", "install/dev.sh"]];
/** Tasks of a clone, which are no commands of svc. */
const TASKS: readonly string[] = Object.keys(
  (parseJsonc(await Deno.readTextFile(join(ROOT, "deno.json"))) as { tasks: object }).tasks,
);
/** An id that is cut short in a page, and what stands for it. */
const SHORT_ID = /\b(sess|mem|rule|cmd|appr|lane|m)([_-])[0-9A-Z]*…/g;
const ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** Returns the snippets of a page that bash, svc's command line or a verb would refuse. */
export async function brokenIn(file: string, page: string): Promise<Broken[]> {
  const found: Broken[] = [];
  for (const { line, script } of snippetsOf(page)) {
    const reason = await syntaxError(script) ?? await wrongCommand(script);
    if (reason !== undefined) found.push({ file, line, reason });
  }
  return found;
}

/** What bash says of a script that it cannot read. */
async function syntaxError(script: string): Promise<string | undefined> {
  const args = ["-n", "-c", script];
  // cwd-ok: bash only reads the script
  const { success, stderr } = await new Deno.Command("bash", { args }).output();
  return success ? undefined : new TextDecoder().decode(stderr).trim();
}

/** What svc says of the first of its commands that it would refuse. */
async function wrongCommand(script: string): Promise<string | undefined> {
  const table = await wholeTable();
  for (const { words } of parseLine(script).parts) {
    const texts = words.map(({ text }) => text);
    while (KEYWORDS.has(texts[0])) texts.shift();
    const name = SVC.find((name) => name.every((word, n) => texts[n] === word));
    const [first = "", ...rest] = texts.slice(name?.length);
    if (name === undefined || name[0] === "sh" && TASKS.includes(first)) continue;
    try {
      const former = formerName("svc", table.commands?.[first] ?? table, rest);
      const argv = former === undefined ? [first, ...rest] : [...former.words, ...former.argv];
      const { path, input } = parse(table, "svc", argv);
      if (path === "svc ctl call" && !words.some(({ dynamic }) => dynamic)) {
        requireCall(input?.args ?? {});
      }
    } catch (error) {
      return `${texts.join(" ")}: ${messageOf(error)}`;
    }
  }
}

/** @throws {Error} when there is no such verb, or none with such parameters */
function requireCall({ method, params = "{}" }: Record<string, unknown>): void {
  const verb = VERBS.find(({ name }) => name === method);
  if (verb === undefined) throw new Error(`there is no verb ${method}`);
  const json = typeof params === "string" ? params : JSON.stringify(params);
  const text = json.replaceAll(SHORT_ID, `$1$2${ULID}`);
  const given = JSON.parse(text);
  const { input } = verb;
  const unknown = input instanceof z.ZodObject &&
    Object.keys(given).find((key) => !(key in input.shape));
  if (unknown) throw new Error(`${method} has no parameter ${unknown}`);
  const issue = input.safeParse(given).error?.issues.find(({ code }) => code === "invalid_type");
  if (issue !== undefined) throw new Error(`${issue.path.join(".")}: ${issue.message}`);
}

/** @throws {Error} that names each snippet that cannot run */
export async function requireRunnable(root: string): Promise<void> {
  const pages = [join(root, "README.md")];
  for await (const { path } of walk(join(root, "docs"), { exts: [".md"] })) pages.push(path);
  const broken = await Promise.all(
    pages.map(async (path) => brokenIn(relative(root, path), await Deno.readTextFile(path))),
  );
  const lines = broken.flat().map(({ file, line, reason }) => `${file}:${line}: ${reason}`);
  if (lines.length > 0) throw new Error(`snippets that cannot run:\n${lines.join("\n")}`);
}

if (import.meta.main) {
  try {
    await requireRunnable(ROOT);
  } catch (error) {
    console.error(messageOf(error));
    Deno.exit(1);
  }
}
