/** Variables that a person lets commands have, `[sandbox] env` in `daemon.toml`. */

/** svc sets these itself. */
const RESERVED = /^(?:HOME|PATH|PWD|SHELL|TERM|GIT_CONFIG_.*|SVC_.*)$/i;

/** @throws {Error} for an entry that is neither `NAME` nor `NAME=value`, or names a reserved one */
export function requireVariable(entry: string): void {
  const [name] = entry.split("=", 1);
  // deno-lint-ignore no-control-regex -- no program can get such a value
  if (!/^[A-Za-z_]\w*$/.test(name) || /\x00/.test(entry)) {
    throw new Error(`must be NAME or NAME=value, not ${JSON.stringify(entry)}`);
  }
  if (RESERVED.test(name)) throw new Error(`cannot set ${name}, which svc sets itself`);
}

/**
 * Returns the variables of a command.
 *
 * @param entries `NAME` for the daemon's own value, if it has one, or `NAME=value`
 */
export function grantedVariables(
  entries: readonly string[],
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  const granted: Record<string, string> = {};
  for (const entry of entries) {
    const at = entry.indexOf("=");
    const name = at < 0 ? entry : entry.slice(0, at);
    const value = at < 0 ? environment[name] : entry.slice(at + 1);
    if (value !== undefined) granted[name] = value;
  }
  return granted;
}
