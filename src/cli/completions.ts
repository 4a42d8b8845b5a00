/** `svc completions`: scripts for the shells, made from the table of commands. */
import { nearestOf } from "../base/nearest.ts";
import { parseFlags, UsageError } from "./args.ts";
import type { Command, Words } from "./commands.ts";

const HELP = `Prints a completion script.

Usage: svc completions bash|zsh|fish

  bash   eval "$(svc completions bash)" in ~/.bashrc
  zsh    eval "$(svc completions zsh)" in ~/.zshrc, after compinit
  fish   svc completions fish > ~/.config/fish/completions/svc.fish`;

const SHELLS: Readonly<Record<string, (places: readonly Place[]) => string>> = { bash, zsh, fish };

/** Runs `svc completions`, which offers the words of these commands. */
export function run(
  argv: string[],
  commands: Readonly<Record<string, Command>>,
): Promise<number> {
  const { boolean, rest: [shell, ...others] } = parseFlags(argv, {});
  if (boolean.help || shell === undefined) {
    console.log(HELP);
    return Promise.resolve(boolean.help ? 0 : 2);
  }
  const known = Object.keys(SHELLS);
  if (!known.includes(shell) || others.length > 0) {
    const nearest = nearestOf(shell, known);
    throw new UsageError(
      `svc completions takes ${known.join(", ")}` +
        (nearest && nearest !== shell ? `; did you mean "${nearest}"?` : ""),
    );
  }
  console.log(completionScript(shell, listed(commands)));
  return Promise.resolve(0);
}

/** The script for a shell, `bash`, `zsh` or `fish`. */
export function completionScript(shell: string, commands: Readonly<Record<string, Words>>): string {
  const top = { commands, flags: ["--version"] };
  return SHELLS[shell](places("", top));
}

/** The words after which something can be completed, and what. */
interface Place {
  /** The commands so far, such as `ctl sessions`. */
  path: string;
  words: string[];
}

function places(path: string, { flags = [], commands = {} }: Words): Place[] {
  const below = Object.entries(commands).flatMap(([name, words]) =>
    places(`${path} ${name}`.trim(), words)
  );
  return [{ path, words: [...Object.keys(commands), ...flags, "--help"] }, ...below];
}

function listed(commands: Readonly<Record<string, Command>>): Record<string, Words> {
  return Object.fromEntries(Object.entries(commands).filter(([, { former }]) => !former));
}

/** The arms of a `case` that names the words of each place. */
function arms(places: readonly Place[]): string {
  return places.map(({ path, words }) => `    "${path}") words="${words.join(" ")}" ;;`).join("\n");
}

/** Below a known place, `path` takes in the next word; what is no command ends the search. */
function known(places: readonly Place[]): string {
  return places.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`).join("|");
}

function bash(places: readonly Place[]): string {
  return `_svc() {
  local path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    word="\${path:+$path }$word"
    case "$word" in
      ${known(places)}) path=$word ;;
    esac
  done
  case "$path" in
${arms(places)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _svc svc`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef svc
_svc() {
  local path_="" words_="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    word="\${path_:+$path_ }$word"
    case "$word" in
      ${known(places)}) path_=$word ;;
    esac
  done
  case "$path_" in
${arms(places).replaceAll("words=", "words_=")}
  esac
  compadd -- \${=words_}
  _files
}
compdef _svc svc`;
}

function fish(places: readonly Place[]): string {
  const cases = places.map(({ path, words }) =>
    `    case "${path}"\n      printf '%s\\n' ${words.join(" ")}`
  ).join("\n");
  const all = places.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`).join(" ");
  return `function __svc_words
  set -l path ""
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim "$path $word")
    contains -- "$longer" ${all}; and set path $longer
  end
  switch "$path"
${cases}
  end
end
complete -c svc -a "(__svc_words)"`;
}
