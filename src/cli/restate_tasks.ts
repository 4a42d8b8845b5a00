/** What the commands for workers share. */
import { readConfig } from "../config/read.ts";
import { SvcError } from "../protocol/errors.ts";
import { SECTIONS } from "../features/registry.ts";
import { TASKS, type TasksConfig } from "../features/tasks/config.ts";
import type { HomePaths } from "../os/paths.ts";
import { visible, visibleJson } from "../base/visible.ts";

/** Returns `[tasks]`. @throws {SvcError} validation when tasks are not kept on Restate. */
export async function restateConfig(paths: HomePaths): Promise<TasksConfig> {
  const config = (await readConfig(paths.config, SECTIONS)).of(TASKS);
  if (config.engine === "restate") return config;
  throw new SvcError("validation", "no Restate server is configured", {
    hint: `set [tasks] engine = "restate" and restate_url in ${paths.config}`,
  });
}

/** Prints an event: a line of text, or of JSON. */
export function show(event: Record<string, unknown>, text: string, as_json: boolean): void {
  console.log(as_json ? visibleJson(JSON.stringify(event)) : visible(text));
}
