import { JSON_FLAG, oneOf, option, TEXT } from "../define.ts";
import type { Input, Spec } from "../spec.ts";

export const TASK_LIST_FLAGS = {
  state: option(
    oneOf(["queued", "running", "completed", "failed"]),
    "state",
    "List only tasks in this state",
  ),
  cursor: option(TEXT, "cursor", "Continue a list at the cursor that its last page printed"),
  json: JSON_FLAG,
};

export type TaskListFlags = Input<Spec<typeof TASK_LIST_FLAGS>>["flags"];
