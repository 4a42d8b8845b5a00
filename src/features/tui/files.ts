/** Files of the message: dropped paths and the clipboard's image become chips. */
import { ATTACHED_BYTES_MAX, ATTACHED_MAX, sizeText } from "../../protocol/attachments.ts";
import { chipFor, usedIn } from "./chips.ts";
import { replace } from "./input.ts";
import type { Chip, Input, NewChip } from "./input_state.ts";
import type { Model } from "./model.ts";
import type { Pasted } from "./pasted_paths.ts";

/** What a terminal makes of a file: a chip, or why it cannot be one. */
export type FoundFile = { chip: NewChip } | { problem: string };

/** A file as session.send takes it. */
export interface SentFile {
  data: string;
  media_type: string;
  name: string;
}

/** The files that a terminal of the person's own can read. */
export interface MessageFiles {
  read(path: string): FoundFile;
  clipboard(): Promise<FoundFile>;
  /** The bytes of a chip. */
  get(key: string): SentFile | undefined;
}

type FileChip = Extract<Chip, { kind: "file" }>;

/** Returns the chip of a file. */
export function fileChip(file: Omit<FileChip, "n" | "kind">): NewChip {
  return { kind: "file", ...file };
}

/** The files of the message, each once. */
export function filesIn(input: Input): FileChip[] {
  const files = usedIn(input).filter((it) => it.kind === "file");
  return [...new Map(files.map((it) => [it.key, it])).values()];
}

/** Puts a file at the cursor, or says why not. */
export function addFile(model: Model, found: FoundFile): void {
  const { input } = model;
  const problem = "problem" in found ? found.problem : tooMuch(input, found.chip);
  if (problem !== undefined) model.notice = problem;
  else {
    const char = chipFor(input, (found as { chip: NewChip }).chip);
    replace(input, input.cursor, input.cursor, char);
  }
}

/**
 * Puts files in the place of their paths, which were just pasted; what cannot be read stays text.
 *
 * @param text as it was pasted
 */
export function attachPasted(
  model: Model,
  { text, paths }: Pasted,
  read: (path: string) => FoundFile,
): void {
  const { input } = model;
  const at = input.text.lastIndexOf(text, Math.max(input.cursor - text.length, 0));
  if (at < 0) return;
  let marked = "";
  for (const { path, written } of paths) {
    const found = read(path);
    const problem = "problem" in found ? found.problem : tooMuch(input, found.chip, marked);
    if (problem !== undefined) model.notice = `not attached: ${problem}`;
    const { chip } = found as { chip: NewChip };
    const shown = problem === undefined ? chipFor(input, chip, marked) : written;
    marked += marked === "" ? shown : ` ${shown}`;
  }
  const { cursor } = input;
  const end = at + text.length;
  replace(input, at, end, marked);
  if (cursor > end) input.cursor = cursor - text.length + marked.length;
}

function tooMuch(input: Input, added: NewChip, beside = ""): string | undefined {
  if (added.kind !== "file") return undefined;
  const files = filesIn({ ...input, text: input.text + beside });
  if (files.length >= ATTACHED_MAX) return `a message takes at most ${ATTACHED_MAX} files`;
  const bytes = files.reduce((sum, it) => sum + it.bytes, added.bytes);
  if (bytes <= ATTACHED_BYTES_MAX) return undefined;
  return `the files have more than ${sizeText(ATTACHED_BYTES_MAX)} together`;
}
