/** JSON for people. Apart from `visible.ts`, because the log needs it at the start. */
import { HIDDEN, lazy } from "./hidden.ts";

const hiddenInJson = lazy(`(?!\\n)[${HIDDEN}]`, "gu");

/** Escapes invisible characters in JSON, without changing its meaning. */
export function visibleJson(json: string): string {
  // The pattern takes a millisecond to build, and most lines are plain.
  if (/^[\n -~]*$/.test(json)) return json;
  return json.replaceAll(hiddenInJson(), (char) => {
    const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}
