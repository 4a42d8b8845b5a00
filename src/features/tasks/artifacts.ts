/** Stores the files that tasks produced as `<dir>/<task_id>/<name>`, mode 0600. */
import { join } from "@std/path";
import { ensurePrivateDir, syncDir } from "../../os/files.ts";
import { SvcError } from "../../protocol/errors.ts";
import { writeAll } from "../../base/write_all.ts";
import { Content } from "../../verbs/content.ts";
import type { TaskEngine } from "./engine.ts";
import type { Artifact, NewArtifact } from "./task.ts";

export type NamedContent = Pick<Artifact, "name" | "sha256">;
export type StoredArtifact = Pick<Artifact, "name" | "sha256" | "size">;

export interface ArtifactSink {
  /** Stores an artifact; resolves once it is on disk. */
  put(task_id: string, named: NamedContent, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

export interface ArtifactStore extends ArtifactSink {
  /** Opens an artifact; undefined when it does not exist. The caller ends the stream. */
  open(
    task_id: string,
    artifact: StoredArtifact,
  ): Promise<ReadableStream<Uint8Array> | undefined>;
  remove(task_id: string): Promise<void>;
}

/** A plain file name on every system. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
/** In bytes. */
const SIZE_MAX = 64 * 1024 * 1024;

export class LocalArtifacts implements ArtifactStore {
  readonly #dir: string;

  /** @param dir an absolute path; created with mode 0700 when the first artifact arrives */
  constructor(dir: string) {
    this.#dir = dir;
  }

  async put(
    task_id: string,
    { name }: Pick<NamedContent, "name">,
    bytes: Uint8Array,
  ): Promise<void> {
    const dir = join(this.#dir, task_id);
    ensurePrivateDir(this.#dir);
    ensurePrivateDir(dir);
    const path = join(dir, name);
    const file = await Deno.open(path, { write: true, create: true, truncate: true, mode: 0o600 });
    try {
      await writeAll(file, bytes);
      await file.sync();
    } finally {
      file.close();
    }
    syncDir(dir);
  }

  async open(
    task_id: string,
    { name }: Pick<StoredArtifact, "name">,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    try {
      return (await Deno.open(join(this.#dir, task_id, name))).readable;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  async tasks(): Promise<string[]> {
    try {
      return (await Array.fromAsync(Deno.readDir(this.#dir))).map(({ name }) => name);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }

  async remove(task_id: string): Promise<void> {
    try {
      await Deno.remove(join(this.#dir, task_id), { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/** Stores an artifact. @throws {SvcError} internal for an invalid name; payload_too_large. */
export async function keepArtifact(
  store: ArtifactSink,
  task_id: string,
  { name, media_type, content }: NewArtifact,
): Promise<Artifact> {
  if (!NAME.test(name)) {
    throw new SvcError("internal", `"${name}" is not a valid name of an artifact`);
  }
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  if (bytes.length > SIZE_MAX) {
    throw new SvcError("payload_too_large", `artifact ${name} has more than ${SIZE_MAX} bytes`);
  }
  const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  await store.put(task_id, { name, sha256 }, bytes);
  const url = `/api/task/${task_id}/artifacts/${name}`;
  return { name, media_type, size: bytes.length, sha256, url };
}

/** Finds an artifact of a task. @throws {SvcError} not_found. */
export async function findArtifact(
  engine: Pick<TaskEngine, "get" | "openArtifact">,
  task_id: string,
  name: string,
): Promise<Content<Artifact>> {
  const { artifacts = [] } = await engine.get(task_id);
  const missing = () =>
    new SvcError("not_found", `task ${task_id} has no artifact ${JSON.stringify(name)}`);
  const artifact = artifacts.find((it) => it.name === name);
  if (artifact === undefined) throw missing();
  return new Content(artifact, async () => {
    const content = await engine.openArtifact(task_id, name);
    if (content === undefined) throw missing();
    return content;
  });
}
