/** The rules that a person can choose to always allow, from this one call to the whole tool. */
import { isFilter } from "./filters.ts";
import { baseName, commandsOf, mayRunOthers } from "./programs.ts";
import { type Call, decide, type Held } from "./decide.ts";
import { parseRule, ruleText, subjectOf } from "./rule.ts";

/** Programs whose second word says what they do. */
const SUBCOMMANDS = new Set([
  ...["npm", "pnpm", "yarn", "bun", "deno", "git", "cargo", "go", "make", "just", "pip", "pip3"],
  ...["uv", "poetry", "docker", "kubectl", "dotnet", "gradle", "mvn", "rustup", "terraform"],
  ...["gh", "bundle", "rake", "composer", "swift", "zig", "mix", "stack", "cabal", "nix", "brew"],
  ...["apt", "systemctl"],
]);
/** Subcommands whose next word says what they do. */
const RUN = new Set(["run", "exec", "x", "tool", "task", "compose", "remote", "stash"]);

/** Returns the texts of possible rules for a call, narrowest first. */
export function choicesOf(call: Call, whole: boolean): string[] {
  const { tool } = call;
  const texts: string[] = [];
  switch (subjectOf(tool)) {
    case "command": {
      const { command } = call.args as { command: string };
      texts.push(ruleText({ tool, exact: command }));
      const prefix = call.posix ? prefixOf(command) : undefined;
      if (prefix !== undefined) texts.push(ruleText({ tool, pattern: prefix }));
      break;
    }
    case "path": {
      const [path, ...others] = call.paths ?? [];
      if (path?.inside === undefined || others.length > 0 || path.inside.includes("*")) break;
      texts.push(ruleText({ tool, pattern: path.inside }));
      const slash = path.inside.lastIndexOf("/");
      if (slash > 0) texts.push(ruleText({ tool, pattern: `${path.inside.slice(0, slash)}/**` }));
      break;
    }
    case "url": {
      const url = URL.parse(String((call.args as { url?: unknown }).url));
      // What was said about one repository holds for no other.
      const path = tool === "git_push" ? url?.pathname : "";
      if (url !== null) texts.push(ruleText({ tool, pattern: url.host + path }));
      break;
    }
  }
  if (whole || tool === "run_command") texts.push(tool);
  return texts.filter((text) => wouldAllow(call, text));
}

/** An offered rule must be valid, and must allow the call. */
function wouldAllow(call: Call, text: string): boolean {
  try {
    const rule: Held = { ...parseRule("allow", text), source: "kept" };
    // A rule for a whole tool is bound to it when it is kept.
    const bound = rule.tool === call.tool && rule.pattern === undefined && rule.exact === undefined;
    return decide(call, [bound ? { ...rule, bound: call.rule } : rule]).action === "allow";
  } catch {
    return false;
  }
}

/** The start of a line with one plain command, as a pattern. */
function prefixOf(line: string): string | undefined {
  const { all, unsure } = commandsOf(line);
  const [command, ...others] = all.filter((it) => !isFilter(it));
  if (command === undefined || others.length > 0 || unsure !== undefined) return undefined;
  const { words, assignments, guarded } = command;
  if (assignments > 0) return undefined;
  let length = 1;
  if (SUBCOMMANDS.has(words[0].text)) length = RUN.has(words[1]?.text) ? 3 : 2;
  // For a wrapper, the offer names the program that it runs, as in `sudo apt *`.
  if (guarded.size > 0) {
    const [only, ...more] = guarded;
    const second = words[only].text;
    if (only !== 1 || more.length > 0 || second.startsWith("-") || mayRunOthers(baseName(second))) {
      return undefined;
    }
    length = Math.max(length, 2);
  }
  const kept = words.slice(0, length);
  if (kept.length < length || kept.some((it) => it.dynamic || !/^[\w./:@=+,-]+$/.test(it.text))) {
    return undefined;
  }
  return `${kept.map(({ text }) => text).join(" ")} *`;
}
