/**
 * Applies the rules to a call: first those that deny, then those that ask, then those that allow.
 */
import {
  allowsCommand,
  allowsPath,
  type CallPath,
  type Fit,
  fitsLine,
  fitsPath,
  fitsRepository,
  isAbout,
  urlMatches,
} from "./match.ts";
import { isFilter } from "./filters.ts";
import { type Commands, commandsOf } from "./programs.ts";
import { type Rule, subjectOf } from "./rule.ts";

/** A rule that holds for a session. */
export interface Held extends Rule {
  source: Source;
  /** Of a kept rule. */
  id?: string;
  /** The tool as it was when the rule was made; a changed tool is not allowed. */
  bound?: string;
}

/** `config`: daemon.toml; `kept`: chosen by a person; `project`: the project's file. */
export type Source = "config" | "kept" | "project";

export interface Call {
  tool: string;
  args: unknown;
  /** The scope of `always`; see the tool's `rule`. */
  rule: string;
  /** Whether the project defines and names the tool. */
  foreign: boolean;
  /** Of a file tool. */
  paths?: readonly CallPath[];
  /** Whether a POSIX shell runs command lines. */
  posix: boolean;
}

export interface Ruling {
  /** Undefined when no rule applies. */
  action?: "allow" | "ask" | "deny";
  /** For an allowed line with several commands, the first rule. */
  rule?: Held;
  /** The deciding command of the line. */
  part?: string;
  /** The reason, where the rule does not say it. */
  why?: string;
}

/** Decides by the rules alone, regardless of the approval mode and of earlier decisions. */
export function decide(call: Call, rules: readonly Held[]): Ruling {
  const about = rules.filter((it) => isAbout(it, call.tool));
  if (about.length === 0) return {};
  const judge = new Judge(call);
  const strict: Ruling[] = [];
  for (const action of ["deny", "ask"] as const) {
    for (const rule of about.filter((it) => it.action === action)) {
      const { fit, ...more } = judge.fits(rule);
      if (fit === "yes" && action === "deny") return { action, rule, ...more };
      if (fit === "yes") strict.unshift({ action, rule, ...more });
      else if (fit === "maybe") strict.push({ action: "ask", rule, ...more });
    }
  }
  if (strict.length > 0) return strict[0];
  return judge.allowed(about.filter((it) => it.action === "allow"));
}

class Judge {
  readonly #call: Call;
  #commands: Commands | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  #line(): string {
    const { command } = (this.#call.args ?? {}) as { command?: unknown };
    return typeof command === "string" ? command : "";
  }

  /** Parses the line at most once. */
  #read(): Commands {
    if (this.#commands !== undefined) return this.#commands;
    if (this.#call.posix) return this.#commands = commandsOf(this.#line());
    const why = "command lines of this system are not read";
    return this.#commands = { all: [], possible: [], unsure: why, blind: why };
  }

  #url(): URL | undefined {
    const { url } = (this.#call.args ?? {}) as { url?: unknown };
    return typeof url === "string" ? URL.parse(url) ?? undefined : undefined;
  }

  fits(rule: Rule): { fit: Fit; part?: string; why?: string } {
    const { pattern } = rule;
    switch (subjectOf(this.#call.tool)) {
      case "command":
        return fitsLine(rule, this.#line(), () => this.#read());
      case "path": {
        if (pattern === undefined) return { fit: "yes" };
        const fits = (this.#call.paths ?? []).map((path) => fitsPath(pattern, path));
        return {
          fit: fits.find((it) => it === "yes") ?? fits.find((it) => it === "maybe") ?? "no",
        };
      }
      case "url": {
        if (pattern === undefined) return { fit: "yes" };
        const url = this.#url();
        if (url === undefined) return { fit: "maybe", why: "it is not an address" };
        const fits = this.#call.tool === "git_push"
          ? fitsRepository(pattern, url)
          : urlMatches(pattern, url, false);
        return { fit: fits ? "yes" : "no" };
      }
      default:
        return { fit: "yes" };
    }
  }

  allowed(rules: readonly Held[]): Ruling {
    const usable = rules.filter(({ bound }) =>
      bound === undefined ? !this.#call.foreign : bound === this.#call.rule
    );
    const whole = usable.find(({ pattern, exact }) => pattern === undefined && exact === undefined);
    if (whole !== undefined) return { action: "allow", rule: whole };
    const by_pattern = usable.filter(({ pattern }) => pattern !== undefined);
    switch (subjectOf(this.#call.tool)) {
      case "command": {
        const exact = usable.find((it) => it.exact !== undefined && it.exact === this.#line());
        if (exact !== undefined) return { action: "allow", rule: exact };
        return by_pattern.length === 0 ? {} : this.#allowedLine(by_pattern);
      }
      case "path": {
        const { paths = [] } = this.#call;
        const rules = paths.map((path) => by_pattern.find((it) => allowsPath(it.pattern!, path)));
        if (rules.length === 0 || rules.includes(undefined)) return {};
        return { action: "allow", rule: rules[0] };
      }
      case "url": {
        const url = this.#url();
        const rule = url && by_pattern.find((it) => urlMatches(it.pattern!, url, true));
        return rule === undefined ? {} : { action: "allow", rule };
      }
      default:
        return {};
    }
  }

  #allowedLine(rules: readonly Held[]): Ruling {
    const { all, unsure, unsure_part } = this.#read();
    let first: Held | undefined;
    for (const command of all) {
      const rule = rules.find((it) => allowsCommand(it.pattern!, command));
      if (rule === undefined && isFilter(command)) continue;
      if (rule === undefined) return { part: command.source, why: "no rule allows this command" };
      first ??= rule;
    }
    if (unsure !== undefined) return { part: unsure_part, why: unsure };
    return first === undefined ? {} : { action: "allow", rule: first };
  }
}
