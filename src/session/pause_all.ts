/** Pauses the sessions of a daemon that stops. */
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import { isWorkTitle } from "./ids.ts";
import type { Session } from "./session.ts";

interface PauseAll {
  log: Log;
  grace_ms: number;
  /** When the features have ended their work; their sessions run until then. */
  finished: Promise<void>;
  /** The sessions that are told of the stop. */
  busy(): Session[];
  /** Called for each that is paused, or could not be. */
  end(session: Session): Promise<void>;
}

export async function pauseAll({ log, grace_ms, finished, busy, end }: PauseAll): Promise<void> {
  const until = performance.now() + grace_ms;
  const pause = async (session: Session, grace_ms: number, after?: Promise<void>) => {
    if (session.state.state !== "running") return;
    try {
      await session.pause("daemon_shutdown", grace_ms, after);
    } catch (error) {
      const session_id = session.id;
      log.error("could not pause a session", { session_id, error: messageOf(error) });
    }
  };
  const own = busy().filter(({ state }) => !isWorkTitle(state.title));
  await Promise.all([finished, ...own.map((session) => pause(session, grace_ms, finished))]);
  await Promise.all(
    busy().map(async (session) => {
      await pause(session, Math.max(until - performance.now(), 0));
      await end(session);
    }),
  );
}
