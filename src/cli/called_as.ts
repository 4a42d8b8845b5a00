/**
 * How a script that runs svc, such as install/dev.sh, was called. The script passes it as the first
 * argument: the daemon and the commands of sessions would inherit a variable.
 */
const FLAG = "--called-as=";

/** The name that the script gave; undefined without one. @param args of the process. */
export function calledAs(args: readonly string[]): string | undefined {
  return args[0]?.startsWith(FLAG) ? args[0].slice(FLAG.length) : undefined;
}

/** The arguments after that name. */
export function ownArguments(args: readonly string[]): string[] {
  return args.slice(calledAs(args) === undefined ? 0 : 1);
}
