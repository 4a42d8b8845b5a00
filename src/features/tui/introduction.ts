import { HELP } from "../../models/toolbelt.ts";
import { clean } from "./text.ts";

/** A model that answers with the outputs of tools. */
export const TOOLBELT = "builtin/toolbelt";

/**
 * Returns what a new session shows first: without a model, what the builtin one can do.
 *
 * @param model id of the session's model.
 */
export function introduction(model: string): string {
  if (model !== TOOLBELT) return "Describe what to do. ? shows the keys.";
  // Its paragraphs are broken for a wider screen than this may be.
  return clean(HELP).replace(/(\S)\n(?=\S)/g, "$1 ");
}
