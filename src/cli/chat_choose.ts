/** `svc chat -r`: which session to continue. */
import { ago } from "../base/ago.ts";
import { visibleLine } from "../base/visible.ts";
import type { RpcClient } from "../client/rpc.ts";
import { SvcError } from "../protocol/errors.ts";
import { newestFirst } from "../features/tui/session_order.ts";
import { UsageError } from "./define.ts";
import { table } from "./table.ts";

/** Without a screen, so many sessions are listed. */
const LISTED = 20;

/**
 * Returns the session that a screen begins with, whose list is open there; without a screen, the one
 * that the person chooses from a list.
 *
 * @throws {SvcError} not_found if there is no session
 */
export async function chooseSession(rpc: RpcClient, on_screen: boolean): Promise<string> {
  const { sessions } = await rpc.call("session.list", {});
  const found = newestFirst(sessions);
  if (found.length === 0) {
    throw new SvcError("not_found", "there is no session to continue", {
      hint: "run the command without --resume to start one",
    });
  }
  if (on_screen) return found[0].id;
  const shown = found.slice(0, LISTED);
  const now = Date.now();
  const rows = shown.map(({ title, last_event_at, workdir }, n) =>
    [String(n + 1), title, ago(last_event_at, now), workdir].map((it) => visibleLine(it))
  );
  console.log(table([["", "TITLE", "LAST", "DIRECTORY"], ...rows]));
  const answer = prompt("Number:")?.trim() ?? "";
  const chosen = /^\d+$/.test(answer) ? shown[Number(answer) - 1] : undefined;
  if (chosen === undefined) throw new UsageError(`expected a number from 1 to ${shown.length}`);
  return chosen.id;
}
