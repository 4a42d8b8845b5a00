/** A command line as a shell gets it. */
import { shellQuote } from "../base/shell_quote.ts";
import { SvcError } from "../protocol/errors.ts";

/**
 * The longest line that is passed as an argument, in bytes. Linux takes 128 KiB in one argument, and
 * what is set up before the line is a part of it; cmd.exe takes 8,191 characters.
 */
export const ARGUMENT_MAX = Deno.build.os === "windows" ? 8_000 : 100_000;

/** Whether a line is too long to be an argument. */
export function isLong(line: string): boolean {
  // One unit of text takes three bytes at most.
  return line.length * 3 > ARGUMENT_MAX && new TextEncoder().encode(line).length > ARGUMENT_MAX;
}

/** The error for a line that cannot be passed in another way. */
export function tooLong(line: string): SvcError {
  const { length } = new TextEncoder().encode(line);
  return new SvcError(
    "validation",
    `the command line has ${length} bytes, and this system takes at most ${ARGUMENT_MAX}; ` +
      "write it to a file and run that",
  );
}

/** How a shell reads a line from a file instead of an argument. */
export function readFrom(path: string): string {
  return `. ${shellQuote(path)}`;
}

/** What is left when a line has ended: every process that others of its own can see. */
const LEFT = `
svc_left() {
  left=
  for dir in /proc/[0-9]*; do
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
/** Outside of a namespace of its own, only its process group ends with a command. */
const OWN_GROUP = `{ read -r stat <"/proc/$$/stat"; } 2>/dev/null
set -- \${stat##*\\) }
group=$3
`;

/**
 * Returns a line that runs another one in a shell of its own, and then names the processes that it
 * has left running; these end with it.
 *
 * @param options.alone whether the command sees no other processes
 */
export function namingLeft(
  line: string,
  { shell, alone }: { shell: string; alone: boolean },
): string {
  // The shell waits for what the line does about a signal, which it does not take itself.
  // What it says about a line that was ended by a signal is for nobody.
  return `trap asked=1 TERM INT HUP
exec 9>&2 2>/dev/null
${shellQuote(shell)} -c ${shellQuote(line)} "$0" "$@" 2>&9 9>&-
code=$?
[ -z "$asked" ] || exit "$code"
group=
${alone ? "" : OWN_GROUP}${LEFT}exit "$code"
`;
}
