/**
 * The files that other programs run, or agents follow, later and with all of the person's rights.
 * Writing one has effects outside every sandbox. So file tools ask before each write, commands see
 * existing ones read-only, and new or changed ones are named at the end of a turn.
 *
 * Not included: what a person starts by name (a Makefile, a script, a test), and source code.
 */
import { TOOLCHAINS } from "./toolchains.ts";

export interface Later {
  /** Which program runs it, as a clause for people. */
  runner: string;
  /**
   * `new`: counts only if it did not exist, because people and agents edit it like source code.
   * `asked`: commands may write it, and nobody is asked in `auto`.
   */
  only?: "new" | "asked";
  /** Whether it runs without being started by name. Notes name these first. */
  soon?: true;
}

/** By absolute path without links. */
export type Leads = ReadonlyMap<string, Later>;

export const BY_GIT: Later = { runner: "git runs the hooks and settings in it", soon: true };
/** The entries of a git directory that make git run something. */
export const GIT_RUNS = ["config", "config.worktree", "commondir", "hooks", "info/attributes"];

/** Names at any depth; `*` stands for any characters but a slash. */
const ANYWHERE: readonly (Later & { names: readonly string[] })[] = [
  {
    runner: "the editor runs its tasks and settings",
    soon: true,
    names: [".vscode", "*.code-workspace", ".vs", ".zed", ".fleet", ".helix", ".theia", ".nova"],
  },
  { runner: "the editor runs its configurations", names: [".idea"] },
  {
    runner: "the editor runs it",
    soon: true,
    names: [
      ...[".exrc", ".vimrc", ".lvimrc", ".nvimrc", ".nvim.lua"],
      ...[".dir-locals.el", ".dir-locals-2.el"],
    ],
  },
  {
    runner: "the editor builds and runs it",
    soon: true,
    names: [".devcontainer", ".devcontainer.json"],
  },
  { runner: "direnv runs it in your shell", soon: true, names: [".envrc"] },
  {
    runner: "mise runs it in your shell",
    soon: true,
    names: [".mise", ".mise.*toml", "mise.*toml"],
  },
  {
    runner: "git runs it at each commit",
    soon: true,
    names: [
      ...[".husky", ".githooks", ".git-hooks", ".simple-git-hooks*", ".overcommit.yml"],
      ...[".pre-commit-config.yaml", ".pre-commit-config.yml", ".lintstagedrc*"],
      ...["lint-staged.config.*", "lefthook.*", ".lefthook.*", "lefthook-local.*"],
      ...[".lefthook-local.*", ".lefthook", ".lefthook-local"],
    ],
  },
  { runner: "git runs the filters that it names", soon: true, names: [".gitattributes"] },
  {
    runner: "Mercurial or Jujutsu runs the commands in it",
    soon: true,
    names: [".hg/hgrc", ".jj/repo/config.toml"],
  },
  {
    runner: "the package manager runs what it names",
    names: [
      ...[".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins"],
      ...[".pnpmfile.cjs", ".pnpmfile.mjs", "bunfig.toml", ".bundle/config"],
      ...[".cargo/config", ".cargo/config.toml", ".mvn", ".bazelrc"],
    ],
  },
  {
    runner: "an interpreter or debugger runs it at its start",
    names: [
      ...[".gdbinit", ".lldbinit", ".pdbrc", ".irbrc", ".pryrc", ".Rprofile", ".Renviron"],
      ...[".ghci", ".ocamlinit", ".psqlrc", ".sqliterc"],
    ],
  },
  {
    runner: "agents run and follow what is in it",
    soon: true,
    names: [
      ...[".claude", ".claude.json", ".mcp.json", ".agents", ".agent", ".cursor", ".gemini"],
      ...[".codex", ".opencode", "opencode.json", "opencode.jsonc", ".windsurf", ".continue"],
      ...[".continuerc.json", ".aider.conf.yml", ".roo", ".roomodes", ".cline", ".kilocode"],
      ...[".qwen", ".crush", ".crush.json", "crush.json", ".amp", ".factory", ".junie", ".kiro"],
      ...[".trae", ".augment", ".amazonq", ".goose", ".zencoder", ".copilot"],
      ...[".github/agents", ".github/hooks", ".github/prompts", ".github/instructions"],
    ],
  },
  {
    runner: "agents follow it",
    names: [
      ...["AGENTS.md", "AGENTS.override.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md"],
      ...["GEMINI.md", "QWEN.md", "CRUSH.md", "WARP.md", ".cursorrules", ".windsurfrules"],
      ...[".clinerules", ".roorules*", ".goosehints", ".rules", ".github/copilot-instructions.md"],
    ],
  },
  { runner: "svc starts the tool servers in it", soon: true, names: ["svc.policy.yaml"] },
  { runner: "its rules decide what you are asked", names: ["svc.permissions.toml"] },
  { runner: "svc runs the hooks in it, if you trust the directory", names: ["svc.hooks.toml"] },
  {
    runner: "its runtime loads it by itself",
    only: "new",
    names: [
      ...["conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth"],
      ...["Directory.Build.props", "Directory.Build.targets"],
    ],
  },
  {
    runner: "npm runs its scripts, including those that you always allow",
    only: "asked",
    names: ["package.json"],
  },
];

/** Paths below a home directory. */
const AT_HOME: readonly { runner: string; names: readonly string[] }[] = [
  {
    runner: "your shell runs it",
    names: [
      ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"],
      ...[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"],
      ...[".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment"],
      ...[".config/fish", ".config/environment.d", ".config/zsh", ".config/nushell"],
    ],
  },
  {
    runner: "the desktop runs it at login",
    names: [
      ...[".config/autostart", ".config/plasma-workspace", ".local/share/dbus-1"],
      "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup",
    ],
  },
  { runner: "the desktop starts programs by it", names: [".local/share/applications"] },
  {
    runner: "the service manager runs it",
    names: [".config/systemd", ".local/share/systemd", "Library/LaunchAgents"],
  },
  { runner: "ssh reads it", names: [".ssh"] },
  { runner: "git runs the commands in it", names: [".gitconfig", ".config/git"] },
  { runner: "the editor runs it", names: [".config/nvim", ".emacs", ".emacs.d", ".vim"] },
  { runner: "agents run and follow what is in it", names: [".config/opencode", ".config/crush"] },
  { runner: "you run the programs in it", names: ["bin", ".local/bin", ...TOOLCHAINS] },
];

const KINDS = ANYWHERE.map(({ names, ...later }) => ({ later, pattern: anywhere(names) }));
const ANY_KIND = anywhere(ANYWHERE.flatMap(({ names }) => names));
const KINDS_AT_HOME = AT_HOME.map(({ names, runner }) => ({
  later: { runner, soon: true } as Later,
  names: names.map(fold),
}));

/** Where agents keep their working trees. */
const WORKING_TREES = /\/\.[^/]+\/worktrees\/[^/]+(?=\/|$)/g;

/**
 * Returns what runs a file later; undefined if nothing runs it by itself.
 *
 * @param path absolute, with the system's separators
 * @param home undefined to ignore places below the home directory
 */
export function runsLater(path: string, home: string | undefined): Later | undefined {
  return laterByName(path) ?? (home === undefined ? undefined : laterAtHome(path, home));
}

/** Like {@linkcode runsLater}, by the names in a path alone. It begins with a separator. */
export function laterByName(path: string): Later | undefined {
  const folded = fold(path);
  if (!ANY_KIND.test(folded)) return undefined;
  const own = folded.replaceAll(WORKING_TREES, "");
  return KINDS.find(({ pattern }) => pattern.test(own))?.later;
}

/** Like {@linkcode runsLater}, by the place below the home directory alone. */
export function laterAtHome(path: string, home: string): Later | undefined {
  const base = fold(home).replace(/\/+$/, "");
  const folded = fold(path);
  if (!folded.startsWith(`${base}/`)) return undefined;
  const at_home = folded.slice(base.length + 1);
  return KINDS_AT_HOME.find(({ names }) =>
    names.some((name) => at_home === name || at_home.startsWith(`${name}/`))
  )?.later;
}

/**
 * Returns what runs a file of a bare repository, which only its siblings show.
 *
 * @param path begins with a separator
 */
export function laterInBare(path: string, isThere: (path: string) => boolean): Later | undefined {
  const parts = path.replaceAll("\\", "/").split("/");
  for (let n = parts.length - 1; n > 0; n--) {
    const [directory, place] = [parts.slice(0, n).join("/"), parts.slice(n).join("/")];
    const runs = GIT_RUNS.some((name) => place === name || place.startsWith(`${name}/`));
    if (runs && ["HEAD", "objects", "refs"].every((name) => isThere(`${directory}/${name}`))) {
      return BY_GIT;
    }
  }
  return undefined;
}

/**
 * Like {@linkcode runsLater}, with bare repositories, and without existing files that count only if
 * new.
 */
export function laterFile(path: string, home: string | undefined): Later | undefined {
  const later = runsLater(path, home) ?? laterInBare(path, isThere);
  return later?.only === "new" && isThere(path) ? undefined : later;
}

/**
 * Returns the names that run later only below this directory, such as `config.toml` in `.cargo`.
 */
export function laterBelow(name: string): { rest: string; later: Later }[] {
  return ANYWHERE.flatMap(({ names, ...later }) =>
    names.filter((each) => each.startsWith(`${name}/`))
      .map((each) => ({ rest: each.slice(name.length + 1), later }))
  );
}

/**
 * Returns what runs a file later because other files lead to it.
 *
 * @param path absolute, without links
 */
export function ledTo(path: string, leads: Leads | undefined): Later | undefined {
  if (leads === undefined || leads.size === 0) return undefined;
  const separator = Deno.build.os === "windows" ? "\\" : "/";
  for (let at = path; at !== ""; at = at.slice(0, Math.max(at.lastIndexOf(separator), 0))) {
    const later = leads.get(at);
    if (later !== undefined) return later;
  }
  return undefined;
}

/** Returns the paths that run later below a home directory. */
export function laterNamesAtHome(): string[] {
  return AT_HOME.flatMap(({ names }) => names);
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Matches a path that contains one of these names. */
function anywhere(names: readonly string[]): RegExp {
  const patterns = names.map((name) =>
    fold(name).replace(/[.+^$(){}|[\]\\]/g, "\\$&").replaceAll("*", "[^/]*")
  );
  return new RegExp(`/(?:${patterns.join("|")})(?:/|$)`);
}

/** For case-insensitive file names and Windows separators. */
function fold(path: string): string {
  if (Deno.build.os === "linux") return path;
  return (Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path).toLowerCase();
}
