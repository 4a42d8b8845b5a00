/**
 * Artifacts in the object store of NATS, so that any front door can serve them, by task and digest.
 * An attempt that was considered lost and continues therefore cannot replace the artifacts of the
 * next one.
 */
import type { ArtifactSink, NamedContent } from "../artifacts.ts";
import type { Artifact } from "../task.ts";
import { ARTIFACTS, type NatsLink } from "./link.ts";

const STREAM = `OBJ_${ARTIFACTS}`;

export class NatsArtifacts implements ArtifactSink {
  readonly #link: NatsLink;

  constructor(link: NatsLink) {
    this.#link = link;
  }

  /** @throws {SvcError} unavailable. */
  async put(
    task_id: string,
    { sha256 }: NamedContent,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const name = nameOf(task_id, sha256);
    await this.#link.use(({ artifacts }) => artifacts.putBlob({ name }, bytes));
  }

  /** Opens an artifact in a record. The caller ends the stream. */
  async open(
    task_id: string,
    { sha256 }: Artifact,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const name = nameOf(task_id, sha256);
    const found = await this.#link.use(({ artifacts }) => artifacts.get(name));
    // Later failures are reported by the stream itself.
    found?.error.catch(() => {});
    return found?.data;
  }

  /** Removes the artifacts of tasks. */
  async remove(task_ids: ReadonlySet<string>): Promise<void> {
    for (const { name } of await this.#link.use(({ artifacts }) => artifacts.list())) {
      if (!task_ids.has(name.split("/")[0])) continue;
      await this.#link.use(async ({ artifacts, jsm }) => {
        await artifacts.delete(name);
        // A deleted object would leave a marker behind forever.
        const encoded = new TextEncoder().encode(name).toBase64({ alphabet: "base64url" });
        const filter = `$O.${ARTIFACTS}.M.${encoded}`;
        await jsm.streams.purge(STREAM, { filter });
      });
    }
  }
}

function nameOf(task_id: string, sha256: string): string {
  return `${task_id}/${sha256}`;
}
