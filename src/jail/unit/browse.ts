/** The operations of a unit for people who look through a directory; none is a model's tool. */
import { shownText } from "../../base/edits/encoding.ts";
import { mediaHead } from "../../base/media.ts";
import type { Browsed, BrowsedEntry, Previewed } from "../../protocol/schemas/files.ts";
import { ATTACHED_BYTES_MAX } from "../../protocol/attachments.ts";
import { type FileEntry, RootedError, type RootedFs } from "../rooted.ts";
import { byText, looksBinary, type OpContext } from "./files.ts";
import type { OpOutcome, UnitArgs } from "./protocol.ts";

/** Entries of a directory that are shown. */
const SHOWN_MAX = 2_000;
/** Entries that are read, so that those shown are the first by name. */
const READ_MAX = 20_000;
const TEXT_BYTES = 1024 * 1024;
/** To tell what a file is. */
const HEAD_BYTES = 64 * 1024;

/** `browse {path}`: the entries of a directory as JSON, directories first. */
export function browse({ fs }: OpContext, args: UnitArgs): string {
  const path = args.string("path", ".");
  const all = fs.list(path, { max: READ_MAX + 1 });
  const is_directory = ({ kind }: FileEntry) => kind === "directory";
  const sorted = all.slice(0, READ_MAX).sort((one, other) =>
    Number(is_directory(other)) - Number(is_directory(one)) || byText(one.name, other.name)
  );
  const entries = sorted.slice(0, SHOWN_MAX).map((it) => described(fs, path, it));
  return JSON.stringify(
    {
      entries,
      total: Math.min(all.length, READ_MAX),
      truncated: all.length > SHOWN_MAX,
    } satisfies Browsed,
  );
}

/** A link is what it leads to, inside the directory; elsewhere it leads nowhere. */
function described(fs: RootedFs, directory: string, { name, kind }: FileEntry): BrowsedEntry {
  if (kind !== "symlink" && kind !== "file") return { name, kind };
  try {
    const { kind: there, size } = fs.stat(`${directory}/${name}`);
    const bytes = there === "file" ? size : undefined;
    return kind === "file" ? { name, kind, bytes } : { name, kind, leads_to: there, bytes };
  } catch (error) {
    if (error instanceof RootedError) return { name, kind };
    throw error;
  }
}

/** `preview {path}`: what a file is as JSON, with its text or image. */
export function preview({ fs }: OpContext, args: UnitArgs): string | OpOutcome {
  const path = args.string("path");
  const head = new Uint8Array(HEAD_BYTES);
  const { bytes, stat: { size, version } } = fs.read(path, 0, head);
  const start = head.subarray(0, bytes);
  const answer = (it: Pick<Previewed, "kind" | "text" | "media_type">) =>
    JSON.stringify({ ...it, bytes: size, version } satisfies Previewed);
  const media = mediaHead(start);
  if (media?.media_type.startsWith("image/")) {
    if (size > ATTACHED_BYTES_MAX) return answer({ kind: "too_large" });
    const data = whole(fs, path, size);
    const { media_type } = media;
    return {
      output: answer({ kind: "image", media_type }),
      media: [{ media_type, name: "image", data }],
    };
  }
  if (media !== undefined || looksBinary(start)) return answer({ kind: "binary" });
  if (size > TEXT_BYTES) return answer({ kind: "too_large" });
  const content = whole(fs, path, size);
  const text = looksBinary(content) ? undefined : shownText(content);
  return answer(text === undefined ? { kind: "binary" } : { kind: "text", text });
}

function whole(fs: RootedFs, path: string, size: number): Uint8Array<ArrayBuffer> {
  const into = new Uint8Array(size);
  return into.subarray(0, fs.read(path, 0, into).bytes);
}
