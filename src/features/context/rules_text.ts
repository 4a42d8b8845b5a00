import { visibleLine } from "../../base/visible.ts";
import type { RulesFile } from "../../protocol/events.ts";
import { type Block, contextBlock } from "./facts.ts";
import type { Rules } from "./rules.ts";

/**
 * Returns the block about rules, empty without news.
 * @param news changed files with their texts, and removed ones
 * @param told earlier files
 */
export function rulesText(
  { files, removed }: { files: readonly Rules[]; removed: readonly string[] },
  told: readonly RulesFile[],
): Block {
  const known = new Set(told.map(({ path }) => path));
  const pieces: { about?: string; text: string }[] = files.map((file) => {
    const again = known.has(file.path) ? "; this takes the place of what you were told of it" : "";
    return { about: file.path, text: `${headOf(file)}${again}:\n\n${file.text}` };
  });
  if (removed.length > 0) {
    pieces.push({ text: `These rules no longer hold: ${removed.map(visibleLine).join(", ")}` });
  }
  if (pieces.length === 0) return { text: "", parts: [] };
  return contextBlock("rules", pieces, "\n\n");
}

function headOf({ path: file, below, imported_by }: Rules): string {
  const path = visibleLine(file);
  if (imported_by !== undefined) return `From ${path}, which ${visibleLine(imported_by)} imports`;
  if (below === undefined) return `The person's rules for all projects, from ${path}`;
  return `Rules for everything below ${visibleLine(below)}, from ${path}`;
}
