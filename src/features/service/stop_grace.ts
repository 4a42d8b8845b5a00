/** How long turns get to reach a safe point when a daemon stops (product.md, restart sequence). */
export const STOP_GRACE_S = 30;
