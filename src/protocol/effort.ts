/** How long a model may think before it answers; by default, the provider decides. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;

export type Effort = typeof EFFORTS[number];
