/** The files of the message being typed: read from paths and the clipboard, kept until it is sent. */
import { join } from "@std/path";
import { fileChip, type FoundFile, type MessageFiles } from "../features/tui/files.ts";
import type { Model } from "../features/tui/model.ts";
import { attachmentName } from "../protocol/attachments.ts";
import { type AttachedFile, mediaAt, mediaOf, type ReadMedia } from "./chat_attach.ts";
import { clipboardImage } from "./clipboard_image.ts";
import { env } from "./environment.ts";

export class OwnMessageFiles implements MessageFiles {
  readonly #model: Model;
  readonly #files = new Map<string, AttachedFile>();

  constructor(model: Model) {
    this.#model = model;
  }

  read(path: string): FoundFile {
    const home = env("HOME") ?? env("USERPROFILE");
    const whole = path.startsWith("~/") && home !== undefined ? join(home, path.slice(2)) : path;
    return this.#take(mediaAt(whole), attachmentName(whole, "file"), path);
  }

  async clipboard(): Promise<FoundFile> {
    const image = await clipboardImage();
    if ("problem" in image) return image;
    return this.#take(mediaOf(image.data), "clipboard", "");
  }

  get(key: string): AttachedFile | undefined {
    return this.#files.get(key);
  }

  #take(read: ReadMedia | string, name: string, path: string): FoundFile {
    if (typeof read === "string") return { problem: `${name}: ${read}` };
    this.#forgetUnused();
    const key = crypto.randomUUID();
    const { media_type, data } = read;
    this.#files.set(key, { data: data.toBase64(), media_type, name });
    return { chip: fileChip({ key, name, media_type, bytes: data.length, path }) };
  }

  /** Drops the bytes of files whose chips are gone. */
  #forgetUnused(): void {
    const { input, outbox } = this.#model;
    const used = new Set([
      ...Object.values(input.chips).flatMap((it) => it.kind === "file" ? [it.key] : []),
      ...outbox.flatMap(({ files = [] }) => files),
    ]);
    for (const key of this.#files.keys()) if (!used.has(key)) this.#files.delete(key);
  }
}
