/** Missions as the legacy tools show them. Loaded with the first call. */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { MissionView } from "./engine.ts";
import type { item, state, status } from "./legacy_verbs.ts";
import type { MissionStatus } from "./mission.ts";

/** The old names of a mission's status. */
export const STATUS: Record<MissionStatus, z.output<ReturnType<typeof status>>> = {
  running: "running",
  completed: "success",
  failed: "failed",
  cancelled: "cancelled",
};
const EXIT_CODE: Record<MissionStatus, number> = {
  running: 0,
  completed: 0,
  failed: 1,
  cancelled: -1,
};

/** @throws {SvcError} validation for a runner that no longer exists. */
export function modelOf(runner = "native"): string | undefined {
  if (runner === "native" || runner === "") return undefined;
  if (runner.includes("/")) return runner;
  throw new SvcError("validation", `runner ${JSON.stringify(runner)} is not supported`, {
    hint: 'use "native" or a model, <provider>/<model>',
  });
}

/** Converts a mission for the old list. */
export function toItem(
  { id, status, workdir, created_at, completed_at }: MissionView["mission"],
): z.output<ReturnType<typeof item>> {
  const end = completed_at && { finished_at: completed_at, exit_code: EXIT_CODE[status] };
  return {
    mission_id: id,
    status: STATUS[status],
    repo_root: workdir,
    started_at: created_at,
    ...end,
  };
}

/** Converts a mission for its old status. */
export function toState({ mission, paths }: MissionView): z.output<ReturnType<typeof state>> {
  const { status, error, created_at, completed_at } = mission;
  const seconds = (Date.parse(completed_at ?? new Date().toISOString()) - Date.parse(created_at)) /
    1000;
  return {
    ...toItem(mission),
    exit_code: EXIT_CODE[status],
    ...paths,
    ...(completed_at === undefined ? { elapsed_sec: seconds } : { duration_sec: seconds }),
    error,
  };
}
