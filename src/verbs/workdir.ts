import * as z from "zod";
import { SvcError } from "../platform/errors.ts";
import { checkWorkdir } from "../session/workdir.ts";
import type { Context } from "./define.ts";
import { session_id } from "./session.ts";

/** Where a verb works: exactly one of these. */
export const place = () => ({
  session_id: session_id().optional().describe("Works in the directory of this session"),
  workdir: z.string().min(1).optional().describe("Absolute path of a directory"),
});

/**
 * The directory that a verb works in.
 *
 * @returns its absolute real path.
 * @throws {SvcError} validation when not exactly one is given or the directory will not do;
 * not_found when there is no such session.
 */
export async function workdirOf(
  { services }: Context,
  { session_id, workdir }: { session_id?: string; workdir?: string },
): Promise<string> {
  if ((session_id === undefined) === (workdir === undefined)) {
    throw new SvcError("validation", "give either session_id or workdir");
  }
  const path = workdir ?? (await services.hub.get(session_id!)).state.workdir;
  return await checkWorkdir(path, services.home);
}
