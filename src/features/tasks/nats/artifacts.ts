/**
 * What tasks made, in the object store of NATS, so that any front door can show it: by task and
 * digest. An attempt that was taken for lost and goes on can so not replace what the next one made.
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

  /** Opens an artifact as a record shows it. The caller ends the stream. */
  async open(
    task_id: string,
    { sha256 }: Artifact,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const name = nameOf(task_id, sha256);
    const found = await this.#link.use(({ artifacts }) => artifacts.get(name));
    // What goes wrong later is told by the stream itself.
    found?.error.catch(() => {});
    return found?.data;
  }

  /** Removes what is kept of tasks. */
  async remove(task_ids: ReadonlySet<string>): Promise<void> {
    for (const { name } of await this.#link.use(({ artifacts }) => artifacts.list())) {
      if (!task_ids.has(name.split("/")[0])) continue;
      await this.#link.use(async ({ artifacts, jsm }) => {
        await artifacts.delete(name);
        // A deleted object leaves a mark behind, for ever.
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
