/** Passes a command the variables that could take over what starts it. */

/** Variables that bash does not let anyone set. */
const KEPT_BY_BASH = new Set(["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"]);

/**
 * Sets variables in the shell inside the sandbox. The programs that build the sandbox run outside,
 * where `LD_PRELOAD` and the like would run code. So each variable is passed as the value of
 * another.
 */
export function setInside(
  variables: Readonly<Record<string, string>> = {},
): { env: Record<string, string>; line: string } {
  const assignments = Object.entries(variables)
    .filter(([name]) => VARIABLE_NAME.test(name) && !KEPT_BY_BASH.has(name))
    .map(([name, value], place) => [`SVC_SET_${place}`, `${name}=${value}`] as const);
  return {
    env: Object.fromEntries(assignments),
    line: assignments.map(([passed]) => `export "$${passed}"; unset ${passed}\n`).join(""),
  };
}

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
