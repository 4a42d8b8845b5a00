/** A command line as a shell gets it. */
import { shellQuote } from "../base/shell_quote.ts";
import { SvcError } from "../protocol/errors.ts";

/**
 * The longest line passed as an argument, in bytes. Linux takes 128 KiB, including the setup before
 * the line; cmd.exe takes 8,191 characters.
 */
export const ARGUMENT_MAX = Deno.build.os === "windows" ? 8_000 : 100_000;

/** Reports whether a line is too long to be an argument. */
export function isLong(line: string): boolean {
  // A UTF-16 unit takes at most three bytes.
  return line.length * 3 > ARGUMENT_MAX && new TextEncoder().encode(line).length > ARGUMENT_MAX;
}

/** Returns the error for a line that is too long to pass. */
export function tooLong(line: string): SvcError {
  const { length } = new TextEncoder().encode(line);
  return new SvcError(
    "validation",
    `the command line has ${length} bytes, and this system takes at most ${ARGUMENT_MAX}; ` +
      "write it to a file and run that",
  );
}

/** Returns shell code that reads a line from a file. */
export function readFrom(path: string): string {
  return `. ${shellQuote(path)}`;
}

/** Names the processes left when a line has ended. */
const LEFT = `
svc_left() {
  left=
  svc_dirs
  for dir in $dirs; do
    pid=\${dir#/proc/}
    case $pid in 1 | $$ | $PPID) continue ;; esac
    { read -r stat <"$dir/stat"; } 2>/dev/null || continue
    name=\${stat#*\\(}
    name=\${name%\\)*}
    set -- \${stat##*\\) }
    # Its only child by now is the guard that ends it with the daemon.
    { [ "$1" = Z ] || [ "$2" = "$$" ]; } && continue
    [ -z "$group" ] || [ "$3" = "$group" ] || continue
    case $name in svc-forward*) continue ;; esac
    case ", $left, " in *", $name, "*) continue ;; esac
    left="\${left:+$left, }$name"
  done
}
svc_left
# What is just about to end by itself is nothing to speak of.
[ -z "$left" ] || { sleep 0.1; svc_left; }
[ -z "$left" ] ||
  printf '\\n[still running when the command ended, and ended with it: %s; use background for what is to run on]\\n' "$left"
`;
/** Without its own namespace, a command ends only with its process group. */
const OWN_GROUP = `{ read -r stat <"/proc/$$/stat"; } 2>/dev/null
set -- \${stat##*\\) }
group=$3
`;

/** All that is left is below this shell's parent, whose first child is the guard. */
const BELOW_PARENT = `svc_below() {
  children=
  { read -r children <"/proc/$1/task/$1/children"; } 2>/dev/null
  for child in $children; do
    [ -n "$guard" ] || { guard=$child; continue; }
    dirs="$dirs /proc/$child"
    svc_below "$child"
  done
}
svc_dirs() { guard= dirs=; svc_below "$PPID"; }
`;
const EVERYWHERE = `svc_dirs() { dirs='/proc/[0-9]*'; }
`;

/** Whether a command sees no other processes, or its parent is given what it leaves behind. */
export type Company = "alone" | "reaped" | "none";

const COMPANY: Readonly<Record<Company, string>> = {
  alone: EVERYWHERE,
  reaped: BELOW_PARENT,
  none: OWN_GROUP + EVERYWHERE,
};

/**
 * Returns a line that runs another in its own shell, then names the processes that are left. They
 * end with it.
 */
export function namingLeft(
  line: string,
  { shell, company }: { shell: string; company: Company },
): string {
  // The outer shell leaves signals to the line. Its own message about a signalled line is not
  // wanted.
  return `trap asked=1 TERM INT HUP
exec 9>&2 2>/dev/null
${shellQuote(shell)} -c ${shellQuote(line)} "$0" "$@" 2>&9 9>&-
code=$?
[ -z "$asked" ] || exit "$code"
group=
${COMPANY[company]}${LEFT}exit "$code"
`;
}
