/** How long turns get to reach a safe point when a daemon stops (product.md, restart sequence). */
export const STOP_GRACE_S = 30;
/** Beyond the grace period: for writing what is left. A service manager kills only after both. */
export const STOP_MARGIN_S = 15;
/** How long a daemon may take until it listens. */
export const START_TIMEOUT_S = 60;
