/** How much work goes into a task; each executor has a table of what that means. */
export const EFFORTS = ["minimal", "standard", "thorough", "critical"] as const;
export type Effort = typeof EFFORTS[number];
