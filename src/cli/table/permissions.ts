import {
  argument,
  command,
  group,
  JSON_FLAG as json,
  JSON_OBJECT,
  on,
  oneOf,
  option,
  optional,
  spec,
  TEXT,
  words,
} from "../define.ts";
import { SUMMARIES } from "./summaries.ts";

const session = option(TEXT, "id", "In this session");
const directory = option(TEXT, "dir", "In sessions of this directory");

export const LIST = spec({
  summary: "List permission rules, all of them or those that apply in one place",
  flags: { session, directory, json },
});
export const TEST = spec({
  summary: "Show whether a command or another call would be allowed",
  about: "Runs nothing. Without --session, it is about a new session in the current directory.",
  args: { command: words("The command line, in quotes; or with --tool, nothing but -") },
  flags: {
    tool: option(TEXT, "name", "Another tool than run_command"),
    input: option(JSON_OBJECT, "json", "Arguments of that tool"),
    session,
    directory,
    json,
  },
  examples: [
    [
      'svc permissions test "npm test && git push"',
      "Which rule decides, and because of which part",
    ],
    [
      `svc permissions test - --tool fetch_url --input '{"url":"https://example.com/"}'`,
      "The same for another tool",
    ],
  ],
});
const rule = words('The rule, in quotes, such as "run_command: npm test *"');
const kept = { session, directory, everywhere: on("In all sessions"), json };
const about = "Holds in the current directory unless a flag says otherwise.";
export const ADD = spec({
  summary: "Add a permission rule",
  about,
  args: { action: argument(oneOf(["allow", "ask", "deny"]), "What happens to such calls"), rule },
  flags: kept,
});
export const ALLOW = spec({
  summary: "Allow calls without a question",
  about,
  args: { rule },
  flags: kept,
});
export const DENY = spec({ summary: "Refuse calls", about, args: { rule }, flags: kept });
const dir = optional(TEXT, "The directory; by default, the current one");
export const TRUST = spec({
  summary: "Let a directory's own rules allow calls, and its hooks run",
  about:
    "Its files are svc.permissions.toml, svc.hooks.toml and the hooks of .claude/settings.json.\n" +
    "Holds until they change. Rules that deny or ask hold without trust.",
  args: { directory: dir },
  flags: { json },
});
export const UNTRUST = spec({
  summary: "Take the trust in a directory's own rules and hooks back",
  args: { directory: dir },
  flags: { json },
});
export const REMOVE = spec({
  summary: "Remove a permission rule",
  args: { rule_id: argument(TEXT, "The rule, as listed") },
  flags: { json },
});

const implementation = () => import("../permissions.ts");

export const permissions = group({ summary: SUMMARIES.permissions }, {
  list: command(LIST, async () => (await implementation()).list),
  test: command(TEST, async () => (await implementation()).test),
  allow: command(ALLOW, async () => (await implementation()).allow),
  deny: command(DENY, async () => (await implementation()).deny),
  add: command(ADD, async () => (await implementation()).add),
  trust: command(TRUST, async () => (await implementation()).trust),
  untrust: command(UNTRUST, async () => (await implementation()).untrust),
  remove: command(REMOVE, async () => (await implementation()).remove),
});
