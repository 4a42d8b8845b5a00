/**
 * How a script such as install/dev.sh was called. It passes this as the first argument: the daemon
 * and session commands would inherit a variable.
 */
const FLAG = "--called-as=";

/** Returns the name that the script gave, if any. @param args of the process. */
export function calledAs(args: readonly string[]): string | undefined {
  return args[0]?.startsWith(FLAG) ? args[0].slice(FLAG.length) : undefined;
}

/** Returns the arguments after that name. */
export function ownArguments(args: readonly string[]): string[] {
  return args.slice(calledAs(args) === undefined ? 0 : 1);
}
