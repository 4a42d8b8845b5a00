/** Images and documents of a session: files beside the journal, named by SHA-256. Lazily loaded. */
import { createHash } from "node:crypto";
import { dirname, join } from "@std/path";
import type { Media } from "../base/media.ts";
import { atomicWrite, ensurePrivateDir, flushDir, openOwnFile, readDirIfAny } from "../os/files.ts";
import type { Attachment } from "../protocol/attachments.ts";
import type { Journal } from "./journal.ts";
import { Transcript } from "./transcript.ts";
import { laterOfCheckpoint } from "./view_kept.ts";

/** How long an unnamed file stays: its event may not be recorded yet. */
const UNNAMED_KEPT_MS = 3_600_000;
const HASH = /^[0-9a-f]{64}$/;

export class Attachments {
  readonly #dir: string;

  /** @param dir the session's directory, hidden from tools */
  constructor(dir: string) {
    this.#dir = join(dir, "attachments");
  }

  /** Keeps the bytes, once; they are on the disk when it resolves. @throws the system's error */
  async put({ media_type, name, data }: Media): Promise<Attachment> {
    const hash = hashOf(data);
    const attachment = { hash, media_type, name, bytes: data.length };
    const path = join(this.#dir, hash);
    if (this.read(attachment) === undefined) {
      // Fails if the session's directory was renamed, so that it is not made again here.
      Deno.lstatSync(dirname(this.#dir));
      ensurePrivateDir(this.#dir);
      await atomicWrite(path, data, 0o600);
      await flushDir(dirname(this.#dir));
    } else {
      // Otherwise an old unnamed file could be removed before its event is recorded.
      const now = new Date();
      await Deno.utime(path, now, now);
    }
    return attachment;
  }

  /** Reads the bytes. @returns undefined when the file is missing or changed */
  read({ hash, bytes }: Pick<Attachment, "hash" | "bytes">): Uint8Array<ArrayBuffer> | undefined {
    const data = this.find(hash, bytes);
    return data?.length === bytes ? data : undefined;
  }

  /** As {@linkcode read}, for a caller that knows only the hash. */
  find(hash: string, bytes_max: number): Uint8Array<ArrayBuffer> | undefined {
    if (!HASH.test(hash)) return undefined;
    try {
      // Other programs can write in the working directory, so it may be any kind of file.
      using file = openOwnFile(join(this.#dir, hash));
      const { size } = file.statSync();
      if (size > bytes_max) return undefined;
      const data = new Uint8Array(size);
      let done = 0;
      while (done < size) {
        const read = file.readSync(data.subarray(done)) ?? 0;
        if (read === 0) return undefined;
        done += read;
      }
      return hashOf(data) === hash ? data : undefined;
    } catch {
      return undefined;
    }
  }

  get any(): boolean {
    return readDirIfAny(this.#dir).length > 0;
  }

  /** Removes the files that no event names. */
  async keepOnly(hashes: ReadonlySet<string>): Promise<void> {
    for (const { name } of readDirIfAny(this.#dir)) {
      if (hashes.has(name)) continue;
      const path = join(this.#dir, name);
      const { mtime } = await Deno.lstat(path);
      if (Date.now() - (mtime?.getTime() ?? 0) < UNNAMED_KEPT_MS) continue;
      await Deno.remove(path);
    }
  }
}

/** Removes the attachments that neither the journal nor its checkpoint names. */
export async function keepNamed(attachments: Attachments, journal: Journal): Promise<void> {
  if (!attachments.any) return;
  const hashes = new Set<string>();
  const add = ({ attachments = [] }: { attachments?: readonly Attachment[] }) => {
    for (const { hash } of attachments) hashes.add(hash);
  };
  for await (const event of journal.read(0)) {
    switch (event.type) {
      case "user.message":
      case "user.queued":
      case "session.tool_completed":
      case "subagent.tool_completed":
        add(event.data);
    }
    if (event.type !== "session.checkpoint") continue;
    add({ attachments: attachmentsIn(Transcript.from(event.data.transcript)) });
    for (const { message } of laterOfCheckpoint(event.data.state)) add(message);
  }
  await attachments.keepOnly(hashes);
}

export function attachmentsIn({ items }: Transcript): Attachment[] {
  return items.flatMap((item) => {
    if ("user" in item) return item.attachments ?? [];
    if ("step" in item) return item.step.results.flatMap(({ attachments }) => attachments ?? []);
    return [];
  });
}

function hashOf(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
