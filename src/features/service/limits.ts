/** For turns to reach a safe point (product.md, restart sequence). */
export const STOP_GRACE_S = 30;
/** For the rest of a stop. A service manager kills only after both. */
export const STOP_MARGIN_S = 15;
/** Until the daemon listens. */
export const START_TIMEOUT_S = 60;
