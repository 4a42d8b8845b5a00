/** Runs before the first paint, so that no theme is seen but the chosen one. */
import { applyTheme, chosenTheme } from "./theme.ts";

applyTheme(chosenTheme());
