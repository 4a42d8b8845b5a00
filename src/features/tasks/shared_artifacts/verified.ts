/** Checks content against its digest while it is read. */
import { createHash } from "node:crypto";
import { deadline } from "@std/async";
import { messageOf } from "../../../protocol/errors.ts";
import type { StoredArtifact } from "../artifacts.ts";
import { StoreFault } from "./objects.ts";

/** How long a read may take to bring its next bytes. */
const SILENCE_MS = 60_000;
const AGAIN = "restore it from a copy, or run the task again";

/**
 * Passes content on, and fails if its bytes are not the artifact's. The last bytes are passed on
 * only after the check, so no reader takes truncated or changed content for whole.
 *
 * @param failed makes the error of the stream
 */
export function verified(
  source: ReadableStream<Uint8Array>,
  { sha256, size }: StoredArtifact,
  failed: (cause: unknown) => Error,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const hash = createHash("sha256");
  let length = 0;
  let held: Uint8Array | undefined;
  const next = async () => {
    while (true) {
      const { value, done } = await deadline(reader.read(), SILENCE_MS);
      length += value?.length ?? 0;
      if (done ? length < size : length > size) {
        throw new StoreFault(
          `it has ${done ? "only" : "at least"} ${length} of ${size} bytes`,
          AGAIN,
        );
      }
      if (done && hash.digest("hex") !== sha256) {
        throw new StoreFault(`its SHA-256 is no longer ${sha256}`, AGAIN);
      }
      if (value) hash.update(value);
      const ready = held;
      held = value;
      if (done || ready) return { ready, done };
    }
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { ready, done } = await next();
        if (ready) controller.enqueue(ready);
        if (done) controller.close();
      } catch (cause) {
        // Not awaited: a read that hangs would hold up the error.
        reader.cancel(cause).catch(() => {});
        if (cause instanceof StoreFault) throw failed(cause);
        const why = `its bytes stopped coming (${messageOf(cause)})`;
        throw failed(new StoreFault(why, "read it again", { passing: true, cause }));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
