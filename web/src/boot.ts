/**
 * Runs before the first paint, so that no theme is seen but the chosen one, and begins to talk to
 * the daemon while the app's code is on its way.
 */
import { beginHeadStart } from "./rpc/connect.ts";
import { applyTheme, chosenTheme } from "./theme.ts";

beginHeadStart();
applyTheme(chosenTheme());
