/** The form of task ids: `t-` and a ULID. */
export const TASK_ID = /^t-[0-9A-Z]{26}$/;
