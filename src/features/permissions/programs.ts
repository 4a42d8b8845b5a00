/** Programs that run other programs. */
import type { Line, Part, Word } from "./shell.ts";
import { parseLine } from "./shell.ts";

/** A command that an allow rule must cover. */
export interface Command {
  source: string;
  /** Assignments that may change what runs, then the command. */
  words: Word[];
  assignments: number;
  /** Indexes of words that no `*` of an allow rule covers. */
  guarded: Set<number>;
}

export interface Commands {
  /** All of them must be allowed. */
  all: Command[];
  /** Why no allow rule can cover the line. */
  unsure?: string;
  /** The command that `unsure` is about. */
  unsure_part?: string;
  /** Each command that the line might run, for deny and ask rules. */
  possible: Possible[];
  /** Why the line might run a command that is missing in `possible`. */
  blind?: string;
}

export interface Possible {
  source: string;
  words: Word[];
}

/** Variables that do not make any program run another one. */
const HARMLESS = new Set([
  ...["CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NODE_ENV", "LANG", "LC_ALL"],
  ...["COLUMNS", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "RUST_BACKTRACE", "RUST_LOG"],
]);

/** A line with a reserved word is a script, which is not analysed. */
const RESERVED = new Set([
  ...["if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac"],
  ...["select", "function", "in", "coproc", "{", "}", "[[", "]]", "foreach", "repeat", "always"],
]);

/** Shell built-ins that change later commands of the line, or that run text. */
const STATEFUL = new Set([
  ...["alias", "unalias", "bind", "builtin", "caller", "compgen", "complete", "compopt", "coproc"],
  ...["declare", "disown", "enable", "eval", "exec", "export", "fc", "fg", "bg", "getopts", "hash"],
  ...["history", "jobs", "let", "local", "logout", "mapfile", "read", "readarray", "readonly"],
  ...["return", "set", "setopt", "shift", "shopt", "source", ".", "suspend", "trap", "typeset"],
  ...["ulimit", "umask", "unset", "wait", "autoload", "zmodload", "emulate", "break", "continue"],
]);

const SHELLS = new Set([
  ...["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh"],
]);
/** Programs that run text from their arguments or their input. */
const INTERPRETERS =
  /^(?:i?python|pypy|node|nodejs|tsx|ts-node|perl|ruby|irb|php|lua|luajit|deno|bun|tclsh|wish|osascript|pwsh|powershell|rscript|julia|guile|groovy|scala|jshell|elixir|iex|erl|ocaml|ghci|runghc|racket|sbcl|m4|bc|sqlite|psql|mysql)[0-9.]*$/;

/** Programs that run the command in their arguments. */
const RUNNERS = new Set([
  ...["sudo", "doas", "su", "runuser", "pkexec", "run0", "env", "nice", "ionice", "chrt"],
  ...["taskset", "time", "timeout", "nohup", "setsid", "stdbuf", "unbuffer", "xargs", "parallel"],
  ...["watch", "strace", "ltrace", "gdb", "flock", "script", "chroot", "unshare", "nsenter"],
  ...["busybox", "toybox", "ssh", "systemd-run", "at", "batch", "start-stop-daemon", "setpriv"],
  ...["prlimit", "firejail", "bwrap", "proot", "fakeroot", "rlwrap", "expect", "entr", "command"],
  ...["builtin", "exec", "eval", "trap", "coproc", "catchsegv", "valgrind", "perf"],
  ...["dbus-run-session", "xvfb-run", "caffeinate", "arch", "setarch", "linux32", "linux64"],
  ...["chronic", "ts", "daemon", "screen", "tmux", "docker", "podman", "kubectl", "npx", "pnpx"],
  ...["bunx", "uvx", "corepack", "rustup", "find", "fd", "git", "make", "awk", "gawk", "mawk"],
  ...["nawk", "tar", "rsync", "vim", "vi", "nvim", "view", "ex", "ed", "emacs", "emacsclient"],
  ...["nano", "crontab"],
  ...SHELLS,
]);

const AWK = [
  ...["-f", "--file", "-E", "--exec", "-W", "-o", "--pretty-print", "-d", "--dump-variables", "-p"],
  ...["--profile", "-i", "--include", "-l", "--load", "-D", "--debug"],
];

const MAKE = [
  ...["-f", "--file", "--makefile", "-C", "--directory", "-E", "--eval", "-I", "--include"],
];

/** Prefixes of options and subcommands with which a program runs another one or writes a file. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  find: ["-exec", "-ok", "-delete", "-fls", "-fprint"],
  fd: ["-x", "-X", "--exec"],
  rg: ["--pre", "--hostname-bin"],
  sort: ["-o", "--output", "--compress-program", "-T", "--temporary-directory", "--files0-from"],
  tree: ["-o"],
  tar: [
    ...["-I", "-F", "-P", "-T", "--checkpoint-action", "--to-command", "--use-compress", "--rsh"],
    ...["--info-script", "--new-volume", "--rmt-command", "--absolute-names", "--files-from"],
  ],
  zip: ["-T", "--unzip-command"],
  rsync: ["-e", "--rsh", "--rsync-path"],
  man: ["-P", "-H", "--pager", "--html"],
  npm: [
    ...["exec", "x", "explore", "config", "set", "--script-shell", "--node-options", "--prefix"],
    ...["-C", "--userconfig", "--globalconfig", "--shell", "--cache", "--git", "--editor"],
    ...["--viewer", "--browser", "--init-module", "--logs-dir", "--pack-destination", "--global"],
    ...["--location", "-g"],
  ],
  pnpm: ["exec", "dlx", "--script-shell", "--node-options", "--dir", "-C", "--config"],
  yarn: ["exec", "dlx", "--cwd", "--use-yarnrc", "--script-shell"],
  uv: ["run", "tool", "--directory", "--project", "--config-file"],
  make: MAKE,
  gmake: MAKE,
  cargo: ["--config", "-C", "--manifest-path", "+"],
  go: ["-exec", "-toolexec", "-vettool", "-overlay"],
  pytest: [
    ...["-c", "-p", "--rootdir", "--confcutdir", "-o", "--override-ini", "--basetemp", "-W"],
    ...["--pythonwarnings", "--pdbcls"],
  ],
  awk: AWK,
  gawk: AWK,
  mawk: AWK,
  nawk: AWK,
  sed: ["-i", "--in-place", "-f", "--file"],
  less: ["+", "-o", "-O", "--log-file", "--LOG-FILE", "-k", "--lesskey"],
  split: ["--filter"],
  cpio: ["--rsh-command"],
  ag: ["--pager"],
  ack: ["--pager"],
  cmake: ["-P", "-E", "-C"],
  gh: ["alias", "auth", "codespace", "extension"],
  openssl: ["engine", "-engine", "-provider", "-config"],
  eslint: ["-c", "--config", "--rulesdir", "--resolve-plugins", "--plugin", "--parser", "-f", "-o"],
  prettier: ["--plugin", "--config"],
  curl: [
    ...["-o", "-O", "--output", "--remote-name", "-K", "--config", "-T", "--upload-file", "-D"],
    ...["-c", "--dump-header", "--cookie-jar", "--trace", "--stderr", "--libcurl", "--etag-save"],
    ...["--hsts", "--alt-svc", "--engine", "--variable", "-J", "--remote-header-name"],
  ],
  wget: [
    ...["-O", "--output", "-e", "--execute", "--use-askpass", "-P", "--directory-prefix", "-a"],
    ...["-o", "--append-output", "--config", "--save-cookies", "--warc", "--hsts-file", "-i"],
    ...["--rejected-log", "--input-file", "--post-file", "--body-file"],
  ],
  printf: ["-v"],
  test: ["-v", "-R"],
  "[": ["-v", "-R"],
  date: ["-s", "--set"],
};

/** Short options whose value may follow at once, so that what follows is no option. */
const VALUES: Readonly<Record<string, string>> = {
  awk: "Fv",
  gawk: "Fv",
  mawk: "Fv",
  nawk: "Fv",
  tar: "bCfgHKLNVX",
  sort: "kSt",
  curl: "AbdeEFHmQrtuUwxXyYz",
  wget: "ADIRTQUtw",
  pytest: "kmnr",
};

/** Subcommands of git that a `*` may stand for; others run programs, or write anywhere. */
const GIT_PLAIN = new Set([
  ...["add", "am", "apply", "archive", "blame", "branch", "cat-file", "check-attr", "check-ignore"],
  ...["check-mailmap", "check-ref-format", "checkout", "cherry", "cherry-pick", "clean", "clone"],
  ...["commit", "commit-tree", "count-objects", "describe", "diff", "diff-files", "diff-index"],
  ...["diff-tree", "fetch", "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object"],
  ...["init", "log", "ls-files", "ls-remote", "ls-tree", "merge", "merge-base", "merge-tree", "mv"],
  ...["name-rev", "notes", "patch-id", "prune", "pull", "push", "range-diff", "rebase", "reflog"],
  ...["remote", "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog"],
  ...["show", "show-branch", "show-ref", "sparse-checkout", "stash", "status", "stripspace"],
  ...["switch", "symbolic-ref", "tag", "update-index", "update-ref", "verify-commit", "verify-tag"],
  ...["version", "whatchanged", "worktree", "write-tree"],
]);
/** Those that write to a directory in their arguments. */
const GIT_PLACED = new Set([
  ...["archive", "bundle", "clone", "format-patch", "init", "worktree", "checkout-index"],
]);
/** Options of git that run programs, change settings or write elsewhere. */
const GIT_LONG = [
  ...["--upload-pack", "--receive-pack", "--exec", "--extcmd", "--open-files-in-pager"],
  ...["--ext-diff", "--textconv", "--output", "--config", "--template", "--unsafe-paths"],
  ...["--prefix", "--build-fake-ancestor", "--separate-git-dir", "--export-marks", "--strategy"],
];
/** Not in the list, because `--index` is harmless. */
const GIT_INDEX = /^--index-o/;
/** Short options of subcommands that run a program. */
const GIT_SHORT: Readonly<Record<string, string>> = {
  clone: "uc",
  rebase: "xs",
  merge: "s",
  pull: "s",
  grep: "O",
  "format-patch": "o",
  archive: "o",
};
/** Options with a value, before the subcommand. */
const GIT_VALUES = new Set([
  ...["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"],
  ...["--super-prefix"],
]);

/** Arguments after which git runs a text as a command. */
const GIT_TEXT = /^(?:foreach|bisect|-x|--ex.*|--tree-filter)$/;

/** Per line. */
const POSSIBLE_MAX = 2_000;
/** The first words of a runner at which a command may begin. */
const STARTS_MAX = 48;

/** Returns the commands that a line runs. */
export function commandsOf(text: string): Commands {
  const found: Commands = { all: [], possible: [] };
  collect(parseLine(text), found, 0);
  return found;
}

function collect({ parts, unsure, blind }: Line, found: Commands, depth: number): void {
  found.unsure ??= unsure;
  found.blind ??= blind;
  for (const part of parts) {
    collectCertain(part, found, depth);
    collectPossible(part, found, depth);
  }
}

function doubt(found: Commands, { source }: Part, why: string): void {
  if (found.unsure !== undefined) return;
  found.unsure = why;
  found.unsure_part = source;
}

// ── what an allow rule must cover ────────────────────────────────────────────────────────────────

function collectCertain(part: Part, found: Commands, depth: number): void {
  if (part.redirects !== undefined) doubt(found, part, part.redirects);
  if (part.words.length === 0) {
    return doubt(found, part, "it sets variables or redirects, and runs nothing");
  }
  const changing = part.assignments.filter(({ name, value }) => !isHarmless(name, value));
  const dynamic = part.assignments.find((it) => it.dynamic);
  if (dynamic !== undefined) doubt(found, part, `the value of ${dynamic.name} is not known`);
  unwrap(part, part.words, changing.map(({ name, value }) => `${name}=${value}`), found, depth);
}

function isHarmless(name: string, value: string): boolean {
  return HARMLESS.has(name) && /^[\w.,:=@+-]*$/.test(value);
}

/** Unwraps programs that do not change what they run. */
function unwrap(
  part: Part,
  words: Word[],
  assigned: string[],
  found: Commands,
  depth: number,
): void {
  for (let rest = words;;) {
    const [first, second, third] = rest;
    if (first === undefined) return doubt(found, part, "the command is missing");
    if (first.dynamic) return doubt(found, part, "only the shell knows which command it is");
    const name = first.text;
    if (name === "") return doubt(found, part, "the command is empty");
    if (RESERVED.has(name)) return doubt(found, part, `it uses ${name}`);
    if (STATEFUL.has(name)) return doubt(found, part, `${name} changes what later commands do`);
    if (name === "!" || (isPlain(second) && (name === "time" || name === "command"))) {
      rest = rest.slice(1);
    } else if (name === "nice" && isPlain(second)) {
      rest = rest.slice(1);
    } else if (
      name === "nice" && second?.text === "-n" && isStatic(third) && /^-?\d+$/.test(third.text)
    ) {
      rest = rest.slice(3);
    } else if (
      name === "timeout" && isStatic(second) && /^\d+(?:\.\d+)?[smhd]?$/.test(second.text)
    ) {
      rest = rest.slice(2);
    } else if (name === "env" && rest.length > 1) {
      let at = 1;
      while (isStatic(rest[at]) && /^[A-Za-z_]\w*=/.test(rest[at].text)) {
        const variable = rest[at++].text;
        const equals = variable.indexOf("=");
        if (!isHarmless(variable.slice(0, equals), variable.slice(equals + 1))) {
          assigned = [...assigned, variable];
        }
      }
      if (at < rest.length && !isPlain(rest[at])) return doubt(found, part, "env has options");
      if (at === rest.length) return add(part, rest, assigned, found);
      rest = rest.slice(at);
    } else if (name === "xargs") {
      let at = 1;
      while (isStatic(rest[at]) && /^(?:-0|-r|-t|-[nPL]\d+)$/.test(rest[at].text)) at++;
      if (!isPlain(rest[at])) return doubt(found, part, "xargs has options or no command");
      // More words come from its input.
      rest = [...rest.slice(at), { text: "", dynamic: true }];
    } else if (SHELLS.has(name)) return unwrapShell(part, rest, assigned, found, depth);
    else return add(part, rest, assigned, found);
  }
}

function isStatic(word: Word | undefined): word is Word {
  return word !== undefined && !word.dynamic;
}

/** Reports whether a word is known and not an option. */
function isPlain(word: Word | undefined): boolean {
  return isStatic(word) && !word.text.startsWith("-");
}

function unwrapShell(
  part: Part,
  words: Word[],
  assigned: string[],
  found: Commands,
  depth: number,
): void {
  const [{ text: name }, second, third] = words;
  if (isPlain(second) && !second!.text.startsWith("+")) return add(part, words, assigned, found);
  if (second?.text !== "-c" || second.dynamic || !isStatic(third) || words.length > 3) {
    return doubt(found, part, `what ${name} runs is not known`);
  }
  if (assigned.length > 0) {
    return doubt(found, part, `${assigned[0]} holds for all that ${name} runs`);
  }
  if (depth > 2) return doubt(found, part, "it is nested too deeply");
  const inner: Commands = { all: [], possible: [] };
  collect(parseLine(third.text, depth + 1), inner, depth + 1);
  found.all.push(...inner.all);
  if (inner.all.length === 0) return doubt(found, part, `${name} runs nothing`);
  if (inner.unsure !== undefined) doubt(found, part, inner.unsure);
}

function add(part: Part, words: Word[], assigned: string[], found: Commands): void {
  const { source } = part;
  const name = baseName(words[0].text);
  if ((INTERPRETERS.test(name) || SHELLS.has(name)) && readsProgram(words[1])) {
    doubt(found, part, `${name} runs what it reads`);
  }
  const all = [...assigned.map((text) => ({ text, dynamic: false })), ...words];
  const guarded = new Set<number>();
  for (let n = 0; n < assigned.length; n++) guarded.add(n);
  for (const n of guardedWords(words)) guarded.add(n + assigned.length);
  // The shell may insert such a word.
  if (mayRunOthers(name)) {
    for (const [n, { dynamic }] of all.entries()) if (dynamic) guarded.add(n);
  }
  found.all.push({ source, words: all, assignments: assigned.length, guarded });
}

/** Reports whether an interpreter reads its program from its input or from another command. */
function readsProgram(script: Word | undefined): boolean {
  return script === undefined || script.text === "-" || /(?:^|\/)(?:dev|proc)\//.test(script.text);
}

/** Returns the indexes of words that make a program run another one or do something unexpected. */
function guardedWords(words: Word[]): number[] {
  const [{ text }] = words;
  const name = baseName(text);
  const indexes = words.keys().drop(1);
  const guarded: number[] = [];
  if (name === "git") return guardedOfGit(words);
  // Their texts can contain commands of the shell.
  if (DATABASES.test(name)) return [...indexes];
  if (SHELLS.has(name) || INTERPRETERS.test(name)) {
    // Some options contain a program, or read it from the input.
    for (const n of indexes) {
      const word = words[n].text;
      if (!word.startsWith("-") && word !== "eval") break;
      guarded.push(n);
    }
    return guarded;
  }
  // It only shows where a command is.
  if (name === "command" && /^-[vV]$/.test(words[1]?.text)) return guarded;
  for (const n of words.keys().drop(1)) {
    const word = words[n];
    if (actsByText(name, word.text) || WRITERS.has(name) && mayLeadOut(word)) guarded.push(n);
  }
  if (name === "uniq") guarded.push(...outputsOfUniq(words));
  if (name === "sed") {
    guarded.push(...scriptsOfSed(words).filter((n) => !isPlainSed(scriptText(words[n].text))));
  }
  const known = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : [];
  const runs = RUNNERS.has(name) && !Object.hasOwn(OPTIONS, name);
  const values = Object.hasOwn(VALUES, name) ? VALUES[name] : "";
  for (const n of indexes) {
    // The first word of tar needs no dash.
    const bare = name === "tar" && n === 1 && /^[A-Za-z]/.test(words[n].text);
    const word = bare ? `-${words[n].text}` : withoutValue(words[n].text, values);
    if (!runs && endsOptions(words, n)) {
      // It is a variable whatever it starts with.
      const variables = /^g?make$/.test(name) ? words.keys().drop(n + 1) : [];
      for (const each of variables) if (words[each].text.includes("=")) guarded.push(each);
      break;
    }
    if (known.some((option) => startsOption(word, option))) guarded.push(n);
    if (runs) guarded.push(n);
    // The rule must name the program that it runs.
    if (runs && !word.startsWith("-")) break;
  }
  return guarded;
}

const DATABASES = /^(?:sqlite|psql|mysql)[0-9.]*$/;
/** Programs that write where their arguments say. */
const WRITERS = new Set([
  ...["cp", "mv", "ln", "install", "tee", "dd", "rm", "rmdir", "mkdir", "touch", "truncate"],
  ...["chmod", "chown", "unlink"],
]);
/**
 * A path that leads out of the directory, alone or after an option; `/tmp` belongs to the session.
 * `dd` only reads from `if=`.
 */
const ELSEWHERE =
  /^(?:-\w+|(?!if=)[^=/]*=)?(?:\/(?!tmp\/|dev\/null$)|~|\.\.(?:\/|$))|[/=]\.\.(?:\/|$)/;
/** Programs with options that name what they write, which is not told from what they read. */
const PLACED = new Set(["tar", "go", "pytest", "openssl"]);
/** A part of a pattern that fits `..`. */
const DOTS = /(?:^|[/=])(?:\.{1,2}|\[[^\]/]*\.[^\]/]*\])\.?[*?[]/;
/** What an AWK program does beyond reading and printing. */
const AWK_ACTS = /\bsystem\b|\bgetline\b|(?:^|[^|])\|(?:[^|]|$)|@/;

/** Reports whether the text of an argument runs commands, or writes elsewhere. */
function actsByText(name: string, word: string): boolean {
  if (/^[gmn]?awk$/.test(name)) return AWK_ACTS.test(word) || printsToFile(word);
  // It may name a file to write.
  if (name === "curl" && word.includes("%output{")) return true;
  // The shell's `%n` assigns to a variable.
  if (name === "printf") return /%[-+ #0'\d.*hlLjzt]*n/.test(word);
  // Any variable of a makefile may be a part of a command.
  if (/^g?make$/.test(name)) return word.includes("=") && !/^--[a-z-]+=/.test(word);
  if (name === "install" && word.startsWith("--strip-")) return true;
  // An archive with a colon is on another machine.
  if (name === "tar" && /^(?:-[A-Za-z]*|--f[a-z]*=)?[^-=/][^=/]*:/.test(word)) return true;
  // Its options are not bundled. Several linker options come in one word.
  if (name === "go" && /^--?[Cw](?:=|$)|-extld/.test(word)) return true;
  return (WRITERS.has(name) || PLACED.has(name)) && ELSEWHERE.test(word);
}

/** Reports whether only the shell knows where a word leads; a plain pattern stays below. */
function mayLeadOut({ text, dynamic, pattern }: Word): boolean {
  return dynamic && (pattern === undefined || DOTS.test(text));
}

/** Returns the indexes of the words after the first file: the second one is written. */
function outputsOfUniq(words: readonly Word[]): number[] {
  const files: number[] = [];
  for (let n = 1; n < words.length; n++) {
    const { text, dynamic } = words[n];
    if (/^-[cdDiuz]*[fsw]$/.test(text) && isStatic(words[n + 1])) n++;
    // The shell may make several words of it.
    else if (dynamic || text === "-" || !text.startsWith("-")) files.push(n);
  }
  return files.filter((n, at) => at > 0 || words[n].dynamic);
}

/** Reports whether an AWK program may print to a file. */
function printsToFile(program: string): boolean {
  const last = program.lastIndexOf(">");
  for (const { index, 0: { length } } of program.matchAll(/\bprintf?\b/g)) {
    if (index > last) return false;
    if (redirects(program, index + length, last)) return true;
  }
  return false;
}

const AWK_PIECE = /\bprintf?\b|"(?:[^"\\\n]|\\.)*"|["#/>;}]/g;

/**
 * Reports whether a statement may have a `>` of its own.
 *
 * @param from after its `print`
 * @param last where the program's last `>` is
 */
function redirects(program: string, from: number, last: number): boolean {
  AWK_PIECE.lastIndex = from;
  for (;;) {
    const piece = AWK_PIECE.exec(program);
    if (piece === null || piece.index > last) return false;
    const [text] = piece;
    // The next one is looked at by itself.
    if (text === ";" || text === "}" || text.startsWith("p")) return false;
    // A division has its number before it. The end of a pattern or a comment is not certain.
    const before = text === "/" ? program.slice(Math.max(from, piece.index - 20), piece.index) : "";
    const divides = /(?:^|[^\w.])\$?\d+\s*$|[)\]]\s*$/.test(before);
    if (!text.startsWith('"') && !divides || text === '"') return true;
  }
}

/** Returns the indexes of the words that are scripts, or whose meaning is not certain. */
function scriptsOfSed(words: readonly Word[]): number[] {
  const scripts: number[] = [];
  let first: number | undefined;
  let given = false;
  for (let n = 1; n < words.length; n++) {
    const { text } = words[n];
    if (/^-[nErsuz]*e$/.test(text) || /^--e[a-z]*$/.test(text)) {
      // For some, a script before it is the only one.
      if (!given && first !== undefined) scripts.push(first);
      given = true;
      scripts.push(++n);
    } else if (/^--e[a-z]*=/.test(text) || /^-[nErsuz]*e./.test(text)) {
      given = true;
      scripts.push(n);
    } else if (!text.startsWith("-")) first ??= n;
    // Another option may take the next word, so that the script is the one after it.
    else if (!SED_OPTION.test(text)) scripts.push(n);
  }
  if (!given && first !== undefined) scripts.push(first);
  return scripts.filter((n) => n < words.length);
}

const SED_OPTION =
  /^(?:-[nErsuz]*|--|--(?:quiet|silent|regexp-extended|posix|separate|unbuffered|null-data|sandbox|debug))$/;

/** Removes the option that a script is attached to. */
function scriptText(word: string): string {
  return word.replace(/^(?:--e[a-z]*=|-[nErsuz]*e(?=.))/, "");
}

const SED_ADDRESS = String.raw`(?:\d+|\$|\/(?:[^\/\\\n]|\\.)*\/I?)`;
const SED_PLAIN = new RegExp(
  `^\\s*(?:${SED_ADDRESS}(?:\\s*,\\s*(?:${SED_ADDRESS}|[+~]\\d+))?\\s*!?\\s*)?` +
    // Substitution without the flags that run or write.
    String
      .raw`(?:[pdDnNgGhHxq=]|[sy]([\/|#,:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI0-9]*)?\s*$`,
);

/** Reports whether a script of sed only prints, deletes and replaces. */
function isPlainSed(script: string): boolean {
  return splitSed(script).every((command) => SED_PLAIN.test(command));
}

/** Splits at semicolons and line breaks; one in a pattern makes its parts no plain commands. */
function splitSed(script: string): string[] {
  return SED_PLAIN.test(script) ? [script] : script.split(/[;\n]/);
}

/** Reports whether a program may run another one. */
export function mayRunOthers(name: string): boolean {
  return RUNNERS.has(name) || SHELLS.has(name) || INTERPRETERS.test(name) ||
    Object.hasOwn(OPTIONS, name);
}

/** Reports whether a word is a `--` that cannot be the value of an option before it. */
function endsOptions(words: readonly Word[], n: number): boolean {
  return words[n].text === "--" && !words[n - 1].text.startsWith("-");
}

/** Removes the value that is attached to a short option. */
function withoutValue(word: string, values: string): string {
  const letters = /^-([A-Za-z]+)/.exec(word)?.[1] ?? "";
  const at = [...letters].findIndex((it) => values.includes(it));
  return at < 0 ? word : word.slice(0, at + 2);
}

/** Reports whether a word is the option, its abbreviation, or has a value attached. */
function startsOption(word: string, option: string): boolean {
  if (word.startsWith(option)) return true;
  if (option.startsWith("--")) {
    const name = word.split("=", 1)[0];
    return name.length > 2 && option.startsWith(name);
  }
  // Some programs take `--exec` for `-exec`.
  if (option.length > 2 && word.startsWith(`-${option}`)) return true;
  // Short options can be bundled, as in `-xo`.
  return /^-[A-Za-z]$/.test(option) && /^-[A-Za-z]+/.test(word) && word.includes(option[1]);
}

function guardedOfGit(words: Word[]): number[] {
  const guarded: number[] = [];
  let before = true;
  let short = "";
  let placed = false;
  for (let n = 1; n < words.length; n++) {
    const { text } = words[n];
    if (before && text.startsWith("-")) {
      guarded.push(n);
      if (GIT_VALUES.has(text)) guarded.push(++n);
      continue;
    }
    if (endsOptions(words, n)) break;
    if (before) {
      if (!GIT_PLAIN.has(text)) guarded.push(n);
      placed = GIT_PLACED.has(text);
      short = Object.hasOwn(GIT_SHORT, text) ? GIT_SHORT[text] : "";
      before = false;
      continue;
    }
    const long = text.split("=", 1)[0];
    const runs = GIT_INDEX.test(text) || placed && ELSEWHERE.test(text) ||
      /^--[a-z]/.test(text) && GIT_LONG.some((it) => it.startsWith(long) || long.startsWith(it)) ||
      /^-[A-Za-z]/.test(text) && [...short].some((it) => text.includes(it)) ||
      // An address helper, such as `ext::sh -c …`.
      /^[A-Za-z0-9]+::/.test(text);
    if (runs) guarded.push(n);
  }
  return guarded.filter((n) => n < words.length);
}

// ── what a rule that denies or asks may match ────────────────────────────────────────────────────

function collectPossible(part: Part, found: Commands, depth: number): void {
  let { words } = part;
  while (
    words.length > 0 && !words[0].dynamic && (RESERVED.has(words[0].text) || words[0].text === "!")
  ) {
    words = words.slice(1);
  }
  const [first] = words;
  if (first === undefined) return;
  if (first.dynamic) found.blind ??= "only the shell knows one of its commands";
  push(found, part, words);
  const name = baseName(first.text);
  if (name === "git" && hidesGit(part, words)) found.blind ??= "git is given settings of its own";
  if (name === "alias") found.blind ??= "it defines an alias";
  if (!RUNNERS.has(name)) return;
  if (SHELLS.has(name) && words.length === 1) found.blind ??= `${name} runs what it reads`;
  if (words.length > STARTS_MAX) found.blind ??= `${name} has too many arguments`;
  const given = name === "xargs" || name === "parallel" ? [{ text: "", dynamic: true }] : [];
  for (const [n, word] of words.slice(1, STARTS_MAX).entries()) {
    if (name === "eval" && word.dynamic) found.blind ??= "eval runs what only the shell knows";
    if (SHELLS.has(name) && word.dynamic && n < 2) found.blind ??= `what ${name} runs is not known`;
    if (name !== "git") push(found, part, [...words.slice(n + 1), ...given]);
    if (word.dynamic || !/[\s;&|`$(]/.test(word.text)) continue;
    // Other words are messages and names.
    if (name === "git" && !words.some(({ text }) => GIT_TEXT.test(text))) continue;
    if (depth >= 3) found.blind ??= "it is nested too deeply";
    else collectText(word.text, found, depth);
  }
  if (name === "eval") {
    collectText(words.slice(1).map(({ text }) => text).join(" "), found, depth);
  }
}

function collectText(text: string, found: Commands, depth: number): void {
  if (depth >= 3) return;
  const inner: Commands = { all: [], possible: found.possible };
  collect(parseLine(text, depth + 1), inner, depth + 1);
  found.blind ??= inner.blind;
}

function push(found: Commands, { source }: Part, words: Word[]): void {
  if (found.possible.length >= POSSIBLE_MAX) found.blind ??= "it has too many commands";
  else found.possible.push({ source, words });
}

/** Reports whether the settings may define an alias. */
function hidesGit({ assignments }: Part, words: Word[]): boolean {
  return assignments.some(({ name }) => name.startsWith("GIT_")) ||
    words.some(({ text }) => /^(?:-c|--config-env|--exec-path|alias\.)/.test(text));
}

/** Returns a program's name without its directory, in lower case. */
export function baseName(text: string): string {
  return text.slice(text.lastIndexOf("/") + 1).toLowerCase().replace(/\.exe$/, "");
}
