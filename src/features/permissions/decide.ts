/** Decides about a call by rules: those that deny first, then those that ask, then those that allow. */
import {
  allowsCommand,
  allowsPath,
  type CallPath,
  type Fit,
  fitsLine,
  fitsPath,
  isAbout,
  urlMatches,
} from "./match.ts";
import { type Commands, commandsOf } from "./programs.ts";
import { type Rule, subjectOf } from "./rule.ts";

/** A rule that holds for a session, and where it comes from. */
export interface Held extends Rule {
  source: Source;
  /** Of a kept rule. */
  id?: string;
  /** What the tool was when the rule was made: it holds only while the tool is the same. */
  bound?: string;
}

/** `config` is daemon.toml, `kept` what people chose, `project` the file of the project. */
export type Source = "config" | "kept" | "project";

/** A call that is decided about. */
export interface Call {
  tool: string;
  args: unknown;
  /** What `always` covers for this call; see the tool's `rule`. */
  rule: string;
  /** Whether the tool comes from the project, which chose its name. */
  foreign: boolean;
  /** The paths of a file tool. */
  paths?: readonly CallPath[];
  /** Whether command lines are those of a POSIX shell. */
  posix: boolean;
}

/** What the rules say about a call. */
export interface Ruling {
  /** Undefined when no rule decides. */
  action?: "allow" | "ask" | "deny";
  /** The rule that decided; for a line of several commands that are allowed, the first one's. */
  rule?: Held;
  /** The command of the line that decided. */
  part?: string;
  /** Why it was decided so, where the rule alone does not say it. */
  why?: string;
}

/** Decides. Nothing but the rules counts: neither the approval mode nor what was allowed before. */
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

  /** Reads the line at the first rule with a pattern. */
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
        return { fit: urlMatches(pattern, url, false) ? "yes" : "no" };
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
      if (rule === undefined) return { part: command.source, why: "no rule allows this command" };
      first ??= rule;
    }
    if (unsure !== undefined) return { part: unsure_part, why: unsure };
    return first === undefined ? {} : { action: "allow", rule: first };
  }
}
