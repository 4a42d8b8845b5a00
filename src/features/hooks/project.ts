/**
 * A project's own hooks: `svc.hooks.toml`, and those of Claude Code's settings. They run in the
 * sandbox, once a person trusts the directory, and can only be stricter than the person.
 */
import { join } from "@std/path";
import { parse } from "smol-toml";
import * as z from "zod";
import { exactLine } from "../../base/visible.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import { lacksForNow } from "../../os/lacks.ts";
import { messageOf } from "../../protocol/errors.ts";
import { type ClaudeHook, claudeHooks } from "./claude_settings.ts";
import { type Hook, hooksSchema } from "./config.ts";
import { PROJECT_FILES } from "./project_files.ts";

const BYTES_MAX = 256 * 1024;
/** In directories. */
const KNOWN_MAX = 64;

/** A hook of a project: a line for a shell. */
export interface ProjectHook
  extends
    Omit<ClaudeHook, "timeout_s">,
    Pick<Hook, "match" | "timeout_s" | "on_failure" | "format"> {
  /** The file that it is from. */
  file: string;
}

export interface ProjectHooks {
  /** What a person trusts. */
  text: string;
  hooks: ProjectHook[];
  /** Why a file cannot be used. */
  problem?: string;
}

export class ProjectHookFiles implements Disposable {
  readonly #reader = new UntrustedReader();
  readonly #known = new Map<string, ProjectHooks>();

  /** Returns the current hooks of a directory; undefined without any. */
  read(workdir: string): ProjectHooks | undefined {
    const all: ProjectHooks = { text: "", hooks: [] };
    for (const file of PROJECT_FILES) {
      const found = this.#readOne(workdir, file);
      if (found === undefined) continue;
      all.text += JSON.stringify([file, found.text]);
      all.hooks.push(...found.hooks);
      all.problem ??= found.problem;
    }
    return all.text === "" ? undefined : all;
  }

  #readOne(workdir: string, file: string): ProjectHooks | undefined {
    let text: string | undefined;
    try {
      // Most projects have no such file, and this check is cheaper.
      Deno.lstatSync(join(workdir, file));
      text = this.#reader.files(workdir).text(file, BYTES_MAX);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
        return undefined;
      }
      // Without the hooks, the call might be allowed wrongly.
      if (lacksForNow(error)) throw error;
      return { text: "", hooks: [], problem: `${file} cannot be read: ${messageOf(error)}` };
    }
    if (text === undefined) return undefined;
    const key = `${file}\0${text}`;
    let found = this.#known.get(key);
    if (found === undefined) {
      found = hooksIn(file, text);
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      this.#known.set(key, found);
    }
    return found.hooks.length === 0 && found.problem === undefined ? undefined : found;
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }
}

/** Parses one of the files. */
function hooksIn(file: string, text: string): ProjectHooks {
  try {
    const hooks: ProjectHook[] = file.endsWith(".json")
      ? claudeHooks(text).map((it) => ({ ...it, file, on_failure: "deny", format: "claude" }))
      : ownHooks(text).map(({ command, ...it }) => ({
        ...it,
        file,
        line: command.map(shellQuote).join(" "),
      }));
    // Other settings in these files need no trust.
    return { text: file.endsWith(".json") ? JSON.stringify(hooks, withPatterns) : text, hooks };
  } catch (error) {
    return { text, hooks: [], problem: `${file} cannot be used: ${messageOf(error)}` };
  }
}

function withPatterns(_: string, value: unknown): unknown {
  return value instanceof RegExp ? value.source : value;
}

function ownHooks(text: string): Hook[] {
  const { hooks, ...others } = parse(text);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`${other}: is not a key; expected [[hooks]]`);
  const read = hooksSchema().safeParse(hooks);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  if (read.data.some(({ may_allow }) => may_allow)) {
    throw new Error("may_allow: a project's hook cannot allow anything");
  }
  return read.data;
}

/** Returns the calls that a hook is for, as a rule or as names of tools; undefined for all. */
export function matchOf(
  { match, tools }: Pick<ProjectHook, "match" | "tools">,
): string | undefined {
  return match ?? tools?.map(({ source }) => source.slice(1, -1)).join("|");
}

/** Says when a hook runs, and what. */
export function hookLine(hook: ProjectHook): string {
  const { on, line, timeout_s, failed } = hook;
  const only = matchOf(hook);
  const when = failed === true ? `${on} of a failed call` : on;
  const text = `${when}${only === undefined ? "" : ` (${only})`}: ${line} (${timeout_s} s)`;
  return exactLine(text);
}
