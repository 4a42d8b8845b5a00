import { isAbsolute } from "@std/path";
import * as z from "zod";
import { parseDuration } from "../../base/duration.ts";

const HEALTH_TIMEOUT_MAX_MS = 3_600_000;

const url = z.string().refine((text) => {
  const parsed = URL.parse(text);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === "";
}, "must be an http or https URL without credentials");

/** A commit's name, whole or shortened as git does. */
export const commit_name = z.string().regex(
  /^[0-9a-f]{7,64}$/,
  "must be 7 to 64 hexadecimal digits of a commit",
);

/** One entry of `deploy_targets` in the operator's policy file. */
export const deploy_target = z.strictObject({
  name: z.string().regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "must be 1 to 64 letters, digits, dots, hyphens or underscores",
  ),
  /** An absolute path, or a name on the PATH. */
  command: z.string().refine(
    (text) => isAbsolute(text) || /^[^/\s]+$/.test(text),
    "must be an absolute path, or the name of a program",
  ),
  args: z.array(z.string()).default([]),
  /** Values may name variables of the daemon's environment as `${NAME}`. */
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).default({}),
  cwd: z.string().refine(isAbsolute, "must be an absolute path"),
  health_url: url,
  /** How long the deployed service may take to become healthy. */
  health_timeout: z.string().default("60s").transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms > 0 && ms <= HEALTH_TIMEOUT_MAX_MS) return ms;
    context.addIssue(`${JSON.stringify(text)} is not a duration from 1ms to 1h, such as 60s or 5m`);
    return z.NEVER;
  }),
  /** Where the running commit is reported, if not at health_url. */
  commit_url: url.optional(),
  /** The commit to expect if a request names none. */
  expected_commit: commit_name.optional(),
});

export type DeployTarget = z.output<typeof deploy_target>;
