/** How long a model may think before it answers; without one, as its provider has it. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;

export type Effort = typeof EFFORTS[number];
