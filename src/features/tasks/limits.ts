/** Tasks of the queue that may run at once. */
export const WORKERS_MAX = 64;
