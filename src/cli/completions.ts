/** `svc completions`: scripts for the shells, made from the table of commands. */
import type { Command, Input } from "./spec.ts";
import type { COMPLETIONS } from "./table/chat.ts";

const SHELLS = { bash, zsh, fish };

/** Runs `svc completions` for a table of commands. */
export async function run(
  { args: { shell } }: Input<typeof COMPLETIONS>,
  table: Command,
): Promise<number> {
  if (shell === undefined) {
    const { helpText } = await import("./help.ts");
    const { ownName } = await import("./own_name.ts");
    console.log(helpText("svc completions", table.commands!.completions, ownName()));
    return 2;
  }
  console.log(completionScript(shell, table));
  return 0;
}

/** Returns the script for a shell. */
export function completionScript(shell: keyof typeof SHELLS, root: Command): string {
  return SHELLS[shell](places("", root));
}

interface Offer {
  word: string;
  help: string;
}

/** A position on the command line, and the words that can follow. */
interface Place {
  /** The words so far, such as `ctl sessions`; with `--flag` at the end for its values. */
  path: string;
  offers: Offer[];
}

function places(path: string, { spec, commands = {} }: Command): Place[] {
  const listed = Object.entries(commands).filter(([, { former }]) => !former);
  const flags = Object.entries(spec.flags).filter(([, { hidden }]) => !hidden);
  const first = Object.values(spec.args).at(0);
  const offers = [
    ...listed.map(([word, { spec: { summary } }]) => ({ word, help: summary })),
    ...(first?.type.values ?? []).map((word) => ({ word, help: first!.help })),
    ...flags.map(([name, { help }]) => ({ word: `--${name}`, help })),
    { word: "--help", help: "Show this help" },
  ];
  const values = flags.flatMap(([name, flag]) =>
    flag.kind === "option" && flag.type.values !== undefined
      ? [{
        path: `${path} --${name}`.trim(),
        offers: flag.type.values.map((word) => ({ word, help: flag.help })),
      }]
      : []
  );
  const below = listed.flatMap(([name, command]) => places(`${path} ${name}`.trim(), command));
  return [{ path, offers }, ...values, ...below];
}

/** The places that are commands, for the patterns of a `case`. */
function commandPaths(places: readonly Place[]): string[] {
  return places.map(({ path }) => path).filter((path) => path !== "" && !path.includes("--"));
}

function arms(places: readonly Place[]): string {
  return places.map(({ path, offers }) => {
    const words = offers.map(({ word }) => word).join(" ");
    return `    "${path}") words="${words}" ;;`;
  }).join("\n");
}

function patterns(places: readonly Place[]): string {
  return commandPaths(places).map((path) => `"${path}"`).join("|");
}

function bash(places: readonly Place[]): string {
  return `_svc() {
  local path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    word="\${path:+$path }$word"
    case "$word" in
      ${patterns(places)}) path=$word ;;
    esac
  done
  case "$path" in
${arms(places.filter(({ path }) => !path.includes("--")))}
  esac
  case "\${path:+$path }\${COMP_WORDS[COMP_CWORD-1]}" in
${arms(places.filter(({ path }) => path.includes("--")))}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _svc svc`;
}

function zsh(places: readonly Place[]): string {
  const cases = places.map(({ path, offers }) => {
    const described = offers.map(({ word, help }) =>
      quoted(`${word.replaceAll(":", "\\:")}:${oneLine(help)}`)
    );
    return `    ${quoted(path)}) offers_=(${described.join(" ")}) ;;`;
  });
  return `#compdef svc
_svc() {
  local path_="" word
  local -a offers_
  for word in "\${(@)words[2,CURRENT-1]}"; do
    word="\${path_:+$path_ }$word"
    case "$word" in
      ${patterns(places)}) path_=$word ;;
    esac
  done
  word="\${path_:+$path_ }\${words[CURRENT-1]}"
  case "$word" in
    ${
    places.filter(({ path }) => path.includes("--")).map(({ path }) => `"${path}"`).join("|")
  }) path_=$word ;;
  esac
  case "$path_" in
${cases.join("\n")}
  esac
  _describe -V svc offers_
  _files
}
compdef _svc svc`;
}

function fish(places: readonly Place[]): string {
  const cases = places.map(({ path, offers }) => {
    const lines = offers.map(({ word, help }) => quoted(`${word}\t${oneLine(help)}`));
    return `    case ${quoted(path)}\n      printf '%s\\n' ${lines.join(" ")}`;
  });
  const commands = commandPaths(places).map((path) => `"${path}"`).join(" ");
  const flags = places.filter(({ path }) => path.includes("--")).map(({ path }) => `"${path}"`);
  return `function __svc_words
  set -l path ""
  set -l last ""
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim "$path $word")
    contains -- "$longer" ${commands}; and set path $longer
    set last (string trim "$path $word")
  end
  contains -- "$last" ${flags.join(" ")}; and set path $last
  switch "$path"
${cases.join("\n")}
  end
end
complete -c svc -a "(__svc_words)"`;
}

/** The first clause of a help text. */
function oneLine(help: string): string {
  return help.split(/[;.:] |[;.]$/)[0];
}

/** Quotes for zsh and fish, which read a quote within quotes the same way. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
