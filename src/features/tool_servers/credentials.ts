/** Passes values from the daemon's environment to tool servers, and masks them everywhere else. */
import type { Env } from "../../os/paths.ts";
import type { ServerEntry } from "./policy.ts";

/** Variables of a server's process, or headers of its requests. */
export interface Credentials {
  /** With each `${NAME}` replaced. */
  values: Record<string, string>;
  /** The values from the daemon's environment. */
  secrets: string[];
}

/** Shorter values are ordinary words such as `true`. */
const SECRET_MIN = 6;
const MASK = "***";

/**
 * Resolves `env` or `headers`, and `auth_env`: a program gets that variable, an address gets
 * `authorization`, unless the entry sets it.
 *
 * @param allowed the usable variables; undefined for all
 * @returns the credentials, or why the server cannot be used
 */
export function credentialsOf(
  entry: ServerEntry,
  env: Env,
  allowed?: readonly string[],
): Credentials | { problem: string } {
  const secrets: string[] = [];
  let problem: string | undefined;
  const look = (name: string, where: string): string => {
    const value = allowed === undefined || allowed.includes(name) ? env(name) : undefined;
    if (value !== undefined && value !== "") {
      secrets.push(value);
      return value;
    }
    problem ??= allowed === undefined || allowed.includes(name)
      ? `${where} names the variable ${name}, which is not set in the daemon's environment`
      : `${where} names the variable ${name}, which [policy] project_env in daemon.toml does not`;
    return "";
  };
  const [section, written] = entry.transport === "stdio"
    ? ["env", entry.env] as const
    : ["headers", entry.headers] as const;
  const values: Record<string, string> = {};
  for (const [key, text] of Object.entries(written)) {
    values[key] = text.replaceAll(
      /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g,
      (_, name) => look(name, `${section}.${key}`),
    );
  }
  if (entry.auth_env !== undefined) {
    const value = look(entry.auth_env, "auth_env");
    if (entry.transport === "stdio") values[entry.auth_env] = value;
    else if (!Object.keys(values).some((name) => name.toLowerCase() === "authorization")) {
      values.authorization = `Bearer ${value}`;
    }
  }
  return problem === undefined ? { values, secrets } : { problem };
}

/** Returns a function that masks values in a text, also in the forms of JSON, URLs and base64. */
export function masker(secrets: readonly string[]): (text: string) => string {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SECRET_MIN) continue;
    forms.add(secret);
    forms.add(JSON.stringify(secret).slice(1, -1));
    forms.add(encodeURIComponent(secret));
    forms.add(new TextEncoder().encode(secret).toBase64({ omitPadding: true }));
  }
  // Longest first: one may be part of another.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  return (text) => sorted.reduce((masked, form) => masked.replaceAll(form, MASK), text);
}
