import * as z from "zod";
import { SvcError } from "../protocol/errors.ts";
import { checkWorkdir } from "../session/workdir.ts";
import type { Hub } from "../session/hub.ts";
import type { Context } from "./define.ts";
import { session_id } from "./session_id.ts";

export interface PlaceServices {
  readonly hub: Hub;
  /** The home of svc; workdirs are outside. */
  readonly home: string;
}

/** Parameters for a directory: exactly one is needed. */
export const place = () => ({
  session_id: session_id().optional().describe("Uses the working directory of this session"),
  workdir: z.string().min(1).optional().describe("Absolute path of a directory"),
});

/**
 * Returns the absolute real path of a verb's directory.
 *
 * @throws {SvcError} validation unless exactly one is given and usable; not_found
 */
export async function workdirOf(
  { services }: Context<PlaceServices>,
  { session_id, workdir }: { session_id?: string; workdir?: string },
): Promise<string> {
  if ((session_id === undefined) === (workdir === undefined)) {
    throw new SvcError("validation", "pass either session_id or workdir");
  }
  const path = workdir ?? (await services.hub.get(session_id!)).state.workdir;
  return await checkWorkdir(path, services.home);
}
