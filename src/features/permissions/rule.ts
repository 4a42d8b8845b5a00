/** Permission rules and their text form. */

export type Action = "allow" | "ask" | "deny";

export interface Rule {
  action: Action;
  /** May contain `*`. */
  tool: string;
  /** Without it, the rule covers every call of the tool. */
  pattern?: string;
  /** An exact command line. */
  exact?: string;
}

/** The subject of a tool's patterns. */
type Subject = "command" | "path" | "url";

/** Tools whose rules can have a pattern. */
const SUBJECTS: Readonly<Record<string, Subject>> = {
  run_command: "command",
  read_file: "path",
  list_dir: "path",
  glob: "path",
  grep: "path",
  write_file: "path",
  edit_file: "path",
  apply_patch: "path",
  fetch_url: "url",
  connect: "url",
  git_push: "url",
};

/** In characters. */
const RULE_MAX = 4_096;
const PATTERN_MAX = 500;

/** Returns the subject of a tool's patterns; undefined for a tool without patterns. */
export function subjectOf(tool: string): Subject | undefined {
  return Object.hasOwn(SUBJECTS, tool) ? SUBJECTS[tool] : undefined;
}

/** Parses `TOOL`, `TOOL: PATTERN` or `run_command = LINE`. @throws {Error} naming the problem. */
export function parseRule(action: Action, text: string): Rule {
  if (text.length > RULE_MAX) throw new Error(`has more than ${RULE_MAX} characters`);
  const match = /^\s*([A-Za-z0-9_*.-]{1,64})\s*(?:([:=])\s?([^]*))?$/.exec(text);
  if (match === null) {
    throw new Error(
      `${
        JSON.stringify(text.slice(0, 80))
      } is not a rule: expected a tool, such as "write_file", ` +
        'or a tool and a pattern, such as "run_command: npm test *"',
    );
  }
  const [, tool, separator, rest = ""] = match;
  const globbed = tool.includes("*");
  // Otherwise it would allow tools that nobody thought of.
  if (action === "allow" && globbed && !/^mcp_[A-Za-z0-9]/.test(tool)) {
    throw new Error(`a rule that allows cannot use * in the tool ${tool}, only after mcp_NAME`);
  }
  if (separator === undefined) return { action, tool };
  const subject = subjectOf(tool);
  if (subject === undefined) throw new Error(`rules for ${tool} have no pattern`);
  if (separator === "=") {
    if (subject !== "command") throw new Error(`only run_command takes "=" and a whole line`);
    if (rest === "") throw new Error("the command line is missing");
    return { action, tool, exact: rest };
  }
  const pattern = rest.trim();
  if (pattern === "") throw new Error("the pattern is missing");
  if (pattern.length > PATTERN_MAX) {
    throw new Error(`a pattern has at most ${PATTERN_MAX} characters`);
  }
  const problem = PROBLEMS[subject](pattern);
  if (problem !== undefined) throw new Error(`${JSON.stringify(pattern)} ${problem}`);
  return { action, tool, pattern };
}

/** Returns the text for {@linkcode parseRule}. */
export function ruleText({ tool, pattern, exact }: Omit<Rule, "action">): string {
  if (exact !== undefined) return `${tool} = ${exact}`;
  return pattern === undefined ? tool : `${tool}: ${pattern}`;
}

const PROBLEMS: Readonly<Record<Subject, (pattern: string) => string | undefined>> = {
  command(pattern) {
    if (/[\p{Cc}]/u.test(pattern)) return "has more than one line";
    if (/["'\\`$;|&<>(){}]/.test(pattern)) {
      return "is not a pattern for one command: it has quotes or operators; a rule must hold for " +
        "each command of a line, so write one rule for each";
    }
  },
  path(pattern) {
    if (/^(?:[\\/~]|[A-Za-z]:)/.test(pattern)) {
      return "is not relative to the directory of the session";
    }
    if (pattern.split("/").some((it) => it === ".." || it === "." || it === "")) {
      return 'has an empty part, "." or ".."';
    }
    if (/[?[\]{}\\]|[\p{Cc}]/u.test(pattern)) return "uses more than the wildcards * and **";
  },
  url(pattern) {
    if (parseUrlPattern(pattern) === undefined) {
      return 'is not a host such as "*.example.com", perhaps with a scheme, a port or a path';
    }
  },
};

interface UrlPattern {
  scheme?: string;
  /** In lower case; a leading `*.` is any subdomain. */
  host: string;
  port?: string;
  path?: string;
}

/** Parses an address pattern; undefined if it is invalid. */
export function parseUrlPattern(pattern: string): UrlPattern | undefined {
  const match =
    /^(?:(https?):\/\/)?(\*|(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}|\*))?(\/[!-~]*)?$/
      .exec(pattern);
  if (match === null) return undefined;
  const [, scheme, host, port, path] = match;
  return { scheme, host: host.toLowerCase(), port, path };
}

/** Reports whether a text fits a pattern, where `*` is any text. Takes linear time. */
export function globMatches(pattern: string, text: string): boolean {
  const [first, ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
