/** The text of a changed file, as people see it. */
import type * as z from "zod";
import type { changedTextSchema } from "../../protocol/schemas/changes.ts";
import { decodeText } from "./encoding.ts";
import type { Hunk } from "./hunks.ts";

/** Larger texts, in bytes, are not shown. */
export const TEXT_BYTES = 1024 * 1024;

/**
 * Returns a file that exists with its differences.
 * @param options.cut whether the differences are not all there
 */
export function changedText(
  content: Uint8Array<ArrayBuffer>,
  hunks: Hunk[],
  { link = false, cut = false }: { link?: boolean; cut?: boolean } = {},
): z.output<ReturnType<typeof changedTextSchema>> {
  const bytes = content.length;
  if (bytes > TEXT_BYTES || cut) return { kind: "too_large", text: "", hunks: [], bytes };
  const text = content.includes(0) ? undefined : decodeText(content)?.text;
  if (text === undefined) return { kind: "binary", text: "", hunks: [], bytes };
  return { kind: link ? "link" : "text", text, hunks, bytes };
}
