/** How `svc chat -p` ends. */
import { STOPS } from "../protocol/stop_reasons.ts";

interface Exit {
  exit_code: number;
  about: string;
}

/** Ends of a run that a turn does not have, by `stop_reason`. */
const OWN = {
  error: { ...STOPS.error, about: `${STOPS.error.about}, or svc could not run the turn` },
  parked: {
    exit_code: 75,
    about:
      "the provider's limit ends in more than 15 minutes; a session that is kept stays parked, and the daemon continues it by itself then",
  },
  schema: {
    exit_code: 12,
    about: "the answer did not fit the schema of `--schema`, also when asked twice more",
  },
  output_closed: {
    exit_code: 141,
    about: "the reader of standard output left, as `head` does; the turn was cancelled",
  },
  terminated: { exit_code: 143, about: "svc received SIGTERM; the turn was cancelled" },
} satisfies Record<string, Exit>;

/** All ends by `stop_reason`. Wrong usage, 2, has none. */
export const EXITS: Readonly<Record<string, Exit>> = { ...STOPS, ...OWN };

/** Returns the exit code for a `stop_reason`; a newer daemon may send unknown ones. */
export function exitCodeOf(stop_reason: string): number {
  return Object.hasOwn(EXITS, stop_reason) ? EXITS[stop_reason].exit_code : EXITS.error.exit_code;
}
