/** How the protocols of hiring call its verbs. */
import { SvcError } from "../../protocol/errors.ts";
import { type Calling, callsOf } from "../../verbs/call.ts";
import type { ParamsOf, ResultOf } from "../../verbs/define.ts";
import { pushedBy } from "../../verbs/pushed.ts";
import type { TaskLogEntry, TaskRecord } from "../tasks/task.ts";
import type { hireVerbs } from "./verbs.ts";

type HireVerbs = typeof hireVerbs[number];

export type HireParams<N extends HireVerbs["name"]> = ParamsOf<HireVerbs, N>;

export type HireResult<N extends HireVerbs["name"]> = ResultOf<HireVerbs, N>;

export const callHire = callsOf<HireVerbs>();

/** Returns a task's record, if the hirer may see it. */
export async function lookUp(task_id: string, calling: Calling): Promise<TaskRecord | undefined> {
  try {
    return await callHire("hire.get", { task_id }, calling);
  } catch (error) {
    if (error instanceof SvcError && error.code === "not_found") return undefined;
    throw error;
  }
}

/**
 * Returns the lines of a task's log after `since_seq`, until its end or the call's.
 *
 * @throws {SvcError} not_found
 */
export async function follow(
  task_id: string,
  since_seq: number,
  calling: Calling,
): Promise<AsyncGenerator<TaskLogEntry>> {
  const pushed = await pushedBy((push) => {
    const caller = { ...calling.caller, push };
    return callHire("hire.follow", { task_id, since_seq }, { ...calling, caller });
  }, calling.call.signal);
  return entries(pushed);
}

async function* entries(
  pushed: Awaited<ReturnType<typeof pushedBy>>,
): AsyncGenerator<TaskLogEntry> {
  for await (const { at, type, data_json } of pushed) {
    yield { ...JSON.parse(data_json), at, event: type.slice("task.".length) };
  }
}
