/** The life cycle of a lobe's lane. Loaded only to run one. */
import { messageOf } from "../protocol/errors.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { Cause, Lanes } from "./lanes.ts";

interface Lobe {
  lane_id: string;
  label: string;
  cause: Cause;
  /** The reason recorded when the work is done. */
  done: string;
}

/**
 * Runs work in a new lobe lane below the main lane and records its end.
 *
 * @param signal aborts the work; killing the lane does so too
 * @throws the work's error; an error that names the lane when it was killed
 */
export async function runLobe<T>(
  lanes: Pick<Lanes, "open" | "move" | "onKilled">,
  { lane_id, label, cause, done }: Lobe,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const killed = new AbortController();
  const forget = lanes.onKilled(lane_id, () => killed.abort());
  const end = async (status: "done" | "errored" | "cancelled", reason: string) => {
    // A killed lane has ended already.
    if (!killed.signal.aborted) await lanes.move(lane_id, status, reason, status);
  };
  try {
    await lanes.open({
      lane_id,
      kind: "lobe",
      parent_lane_id: MAIN_LANE,
      label,
      started_at: new Date().toISOString(),
    });
    await lanes.move(lane_id, "running", cause.reason, cause.reason_code);
    const result = await work(AbortSignal.any([signal, killed.signal]));
    await end("done", done);
    return result;
  } catch (error) {
    const stopped = signal.aborted || error instanceof DOMException;
    // The session and its lanes may have ended meanwhile.
    await end(stopped ? "cancelled" : "errored", messageOf(error)).catch(() => {});
    throw killed.signal.aborted ? new Error(`the lane "${label}" was killed`) : error;
  } finally {
    forget();
  }
}
