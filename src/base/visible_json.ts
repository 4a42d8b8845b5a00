/** JSON for people. The log needs it at the start, and nothing else of `visible.ts`. */
import { HIDDEN, lazy } from "./hidden.ts";

const hiddenInJson = lazy(`(?!\\n)[${HIDDEN}]`, "gu");

/** JSON that means the same and can be shown on a terminal. */
export function visibleJson(json: string): string {
  // The pattern takes a millisecond to make, and most lines are plain.
  if (/^[\n -~]*$/.test(json)) return json;
  return json.replaceAll(hiddenInJson(), (char) => {
    const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}
