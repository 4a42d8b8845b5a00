import {
  APPROVAL,
  command,
  EFFORT,
  integer,
  JSON_FLAG,
  NETWORK,
  on,
  oneOf,
  option,
  optional,
  options,
  spec,
  TEXT,
  USD,
} from "../define.ts";
import { EXITS } from "../chat_exits.ts";
import type { Command } from "../spec.ts";
import { SUMMARIES } from "./summaries.ts";

const PROMPTS = "With a prompt";

const EXIT_CODES = Object.entries(EXITS)
  .map(([stop_reason, { exit_code }]) => `${exit_code} ${stop_reason}`).join(", ");

export const CHAT = spec({
  summary: SUMMARIES.chat,
  about: "Starts the daemon if none is running.",
  args: { workdir: optional(TEXT, "Directory that the agent works in", ".") },
  flags: {
    prompt: option(
      TEXT,
      "text",
      "Ask once, print the answer and exit with the turn's outcome; - reads standard input",
      { short: "p" },
    ),
    model: option(
      TEXT,
      "id",
      "Model as <provider>/<model>; by default, default_model of daemon.toml, then the first " +
        'provider with a key, then builtin/toolbelt, which runs plain instructions such as "ls"',
      { short: "m" },
    ),
    continue: on("Continue the newest session of this directory", { short: "c" }),
    resume: on("Choose a session to continue, of any directory", { short: "r" }),
    session: option(TEXT, "id", "Continue this session"),
    approve: option(APPROVAL, "mode", "What the agent may do without asking; ask by default"),
    allow: options(
      TEXT,
      "rule",
      'Calls to allow in this session without asking, such as "run_command: npm test *"; ' +
        "repeatable",
    ),
    deny: options(TEXT, "rule", "Calls to refuse in this session; repeatable"),
    effort: option(EFFORT, "level", "How long the model may think before it answers"),
    network: option(
      NETWORK,
      "reach",
      "What commands reach: nothing, allowed hosts, or all; by default, what daemon.toml says",
    ),
    "add-dir": options(
      TEXT,
      "dir[:ro]",
      "Another directory that the agent may read and change; repeatable. DIR:ro is read-only",
    ),
    json: on("Print events as NDJSON, one per line"),
    plain: on(
      "Talk line by line in words, for screen readers and logs; terminal.plain does so always",
    ),
    output: option(
      oneOf(["text", "json", "stream-json"]),
      "form",
      "Print the answer, one JSON object at the end, or one per line as things happen",
      { default: "text", group: PROMPTS },
    ),
    attach: options(
      TEXT,
      "file",
      "PNG, JPEG, GIF or WebP image or PDF for the model; repeatable",
      { group: PROMPTS },
    ),
    keep: on(
      "Keep the session that this run starts. Otherwise it is deleted at the end, unless --json " +
        "prints its events",
      { group: PROMPTS },
    ),
    "max-steps": option(
      integer(1, 10_000),
      "count",
      "Model calls that this run may make; by default, max_steps of daemon.toml",
      { group: PROMPTS },
    ),
    "max-usd": option(USD, "amount", "Stop once this run has cost this much", { group: PROMPTS }),
    schema: option(
      TEXT,
      "file",
      "JSON Schema that the answer must fit; the model is asked again at most twice",
      { group: PROMPTS },
    ),
  },
  examples: [
    ["svc chat ~/project", "Start a conversation in a directory"],
    ['git diff | svc chat -p "review this"', "Ask about piped text and print the answer"],
    [
      "svc chat -p 'is the build green?' --schema ok.json --output json",
      "Get an answer that fits a schema, in a script",
    ],
    ["svc chat -p 'what is wrong here?' --attach shot.png", "Ask about an image"],
    [
      `svc chat -p 'fix the failing test' --allow write_file --allow 'run_command: npm test *'`,
      "Allow some calls, in a script",
    ],
    ["svc chat -p 'plan the release' --keep", "Ask, and go on with the session later"],
    ["svc chat --add-dir ../lib --add-dir ~/docs:ro", "Work in two more directories"],
    ["svc chat -c", "Continue the newest session of the current directory"],
    ["svc chat -r", "Choose a session to continue"],
  ],
  notes:
    `On a terminal, the conversation fills the screen; ? shows its keys. Ctrl-C cancels the turn,
a second Ctrl-C leaves. The session continues in the daemon, and \`svc chat -c\` returns to it.

With --plain the conversation goes line by line instead, in words: no colours, no signs, nothing that
moves or is drawn again. So it does by itself with terminal.plain in daemon.toml, with ACCESSIBLE=1,
with TERM=dumb or without TERM, with --json, and where the output is not a terminal.

-p leaves no session behind. --keep keeps it; --json keeps it too, for programs that go on with it,
and so do --continue and --session. The files that the agent changed stay as they are.

The exit code of -p says how the turn ended: ${EXIT_CODES}. 2 is wrong usage.`,
});

export const ACP = spec({
  summary: SUMMARIES.acp,
  about:
    `Lets an editor such as Zed, JetBrains or Neovim drive sessions over standard input and output.
Starts the daemon if none is running, and reconnects after a restart of the daemon. Sessions stay in
the daemon when the editor exits.`,
  flags: {
    model: option(TEXT, "id", "Model of the sessions that the editor starts", { short: "m" }),
    approve: option(APPROVAL, "mode", "What these sessions may do without asking"),
  },
  notes: `In Zed's settings:

"agent_servers": {"svc": {"type": "custom", "command": "svc", "args": ["acp"]}}`,
});

export const MCP_SERVE = spec({
  summary: SUMMARIES["mcp-serve"],
  about: `Lets an MCP client drive svc. Starts the daemon if none is running, and reconnects after a
restart of the daemon.`,
  flags: {
    caps: option(
      oneOf(["read", "write", "all"]),
      "caps",
      "Tools to offer: read for tools that only read, write to add those that change something, " +
        "all to add those that delete something",
      { default: "all" },
    ),
    toolset: option(
      oneOf(["all", "core"]),
      "toolset",
      "Tools to list: all, or core for those that most work needs; calls accept all of them",
      { default: "all" },
    ),
    "safe-names": on(
      "Use svc_session_list instead of svc.session.list, for clients that allow no dots in tool " +
        "names; clients that are known to need it get it by themselves",
    ),
  },
  notes: `In a client's configuration:

{"command": "svc", "args": ["mcp-serve", "--safe-names", "--toolset", "core"]}

The daemon serves the same tools at http://127.0.0.1:<port>/mcp with its token; \`svc ctl discover\`
prints both.`,
});

export const OPEN = spec({
  summary: SUMMARIES.open,
  about: "Starts the daemon if none is running.",
  args: { session_id: optional(TEXT, "Session to show") },
  flags: { print: on("Only print the address") },
});

export const DESKTOP = spec({
  summary: SUMMARIES.desktop,
  about:
    `Uses the running daemon. If none is running, starts one that stops when the window is closed;
its sessions are restored the next time.`,
  flags: {
    "start-at-login": option(
      oneOf(["on", "off", "status"]),
      "setting",
      "Choose whether the window opens when you log in. The daemon's own service is independent of it",
    ),
    json: on("Print the setting of --start-at-login as JSON"),
  },
  notes: `The window is Chromium, Chrome, Edge or Brave with its own profile. SVC_CHROMIUM selects
another program. Without any of these, the app opens in your browser.`,
});

export const COMPLETIONS = spec({
  summary: SUMMARIES.completions,
  args: { shell: optional(oneOf(["bash", "zsh", "fish"]), "The shell") },
  examples: [
    ['eval "$(svc completions bash)"', "In ~/.bashrc"],
    ['eval "$(svc completions zsh)"', "In ~/.zshrc, after compinit"],
    ["svc completions fish > ~/.config/fish/completions/svc.fish", "Once, for fish"],
  ],
});

export const DOCTOR = spec({
  summary: SUMMARIES.doctor,
  about: "Changes nothing.",
  flags: {
    cache: on(
      "Send the prefix that all model calls share through the running daemon and measure the " +
        "provider's cache instead. Makes a few paid calls",
    ),
    model: option(TEXT, "id", "Model to measure with --cache; by default, the default model"),
    json: JSON_FLAG,
  },
  notes:
    `Exits with 0 if no check fails, otherwise with 1; a warning is not a failure. With --cache,
exits with 0 if at least 80 % of the input is read from the cache.`,
});

export const chat = command(CHAT, async () => (await import("../chat.ts")).run);

export const acp = command(ACP, async () => (await import("../acp.ts")).run);

export const mcpServe = command(MCP_SERVE, async () => (await import("../mcp_serve.ts")).run);

export const open = command(OPEN, async () => (await import("../open.ts")).run);

export const desktop = command(DESKTOP, async () => (await import("../desktop.ts")).run);

/** Returns the command that prints completion scripts for a table. */
export function completionsOf(table: () => Promise<Command>): Command {
  return command(COMPLETIONS, async () => {
    const { run } = await import("../completions.ts");
    return async (input) => run(input, await table());
  });
}

export const doctor = command(DOCTOR, async () => (await import("../doctor.ts")).run);
