/**
 * Artifacts in a store that several machines reach, as `<task_id>/<sha256>`.
 *
 * Each task has its own copy, also of content that another task has: neither a bucket nor a network
 * file system can remove the last reference and its content in one step, so a removal could take
 * content that another machine has just found and acknowledged.
 */
import { deadline } from "@std/async";
import { pause, SYSTEM_CLOCK } from "../../../base/clock.ts";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { ArtifactStore, NamedContent, StoredArtifact } from "../artifacts.ts";
import { RetryableError, TASK_ID } from "../task.ts";
import { type Objects, StoreFault } from "./objects.ts";
import { verified } from "./verified.ts";

const TRIES = 4;
const WAIT_MS = 500;
/** Of one try: these, and the time for the bytes over a slow line. */
const PATIENCE_MS = 30_000;
const BYTES_PER_MS = 256;

export interface SharedOptions {
  clock?: typeof SYSTEM_CLOCK;
  patience_ms?: number;
}

export class SharedArtifacts implements ArtifactStore {
  readonly #objects: Objects;
  readonly #clock: typeof SYSTEM_CLOCK;
  readonly #patience_ms: number;

  constructor(
    objects: Objects,
    { clock = SYSTEM_CLOCK, patience_ms = PATIENCE_MS }: SharedOptions = {},
  ) {
    this.#objects = objects;
    this.#clock = clock;
    this.#patience_ms = patience_ms;
  }

  /** @throws {RetryableError} for a failure that may pass; {SvcError} internal for another */
  async put(
    task_id: string,
    { name, sha256 }: NamedContent,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const key = { task_id, sha256 };
    try {
      await this.#insist((signal) => this.#objects.write(key, bytes, signal), bytes.length);
    } catch (cause) {
      const message = `cannot store artifact ${name} in ${this.#objects.url}: ${messageOf(cause)}`;
      if (cause instanceof StoreFault && cause.passing) {
        throw new RetryableError(message, { cause });
      }
      throw new SvcError("internal", message, { cause });
    }
  }

  /**
   * Opens an artifact; undefined when it does not exist. The stream fails if it is not whole.
   * @throws {SvcError} unavailable for a failure that may pass; internal
   */
  async open(
    task_id: string,
    artifact: StoredArtifact,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const failed = this.#failing(`read artifact ${artifact.name} of ${task_id} from`);
    const key = { task_id, sha256: artifact.sha256 };
    const source = await this.#insist((signal) => this.#objects.read(key, signal)).catch(
      (cause) => {
        throw failed(cause);
      },
    );
    return source && verified(source, artifact, failed);
  }

  /** Removes a task's artifacts. @throws like {@linkcode SharedArtifacts.open} */
  async remove(task_id: string): Promise<void> {
    const failed = this.#failing(`remove the artifacts of ${task_id} from`);
    await this.#insist((signal) => this.#objects.remove(task_id, signal)).catch((cause) => {
      throw failed(cause);
    });
  }

  /**
   * Removes what crashes left: files of killed writes, and artifacts of tasks that are gone.
   *
   * @param exists asks the engine that all machines share whether it has a task; a task that this
   * machine has not heard of yet must not count as gone
   * @returns the tasks whose artifacts it removed
   * @throws like {@linkcode SharedArtifacts.open}; anything that `exists` throws
   */
  async sweep(exists: (task_id: string) => Promise<boolean>): Promise<string[]> {
    const failed = this.#failing("list the tasks in");
    const found = await this.#insist((signal) => this.#objects.tasks(signal)).catch((cause) => {
      throw failed(cause);
    });
    const gone: string[] = [];
    // The listing comes first: a task is recorded before it can have artifacts.
    for (const task_id of found.filter((name) => TASK_ID.test(name))) {
      if (await exists(task_id)) {
        await this.#objects.tidy?.(task_id);
      } else {
        await this.remove(task_id);
        gone.push(task_id);
      }
    }
    return gone;
  }

  #failing(doing: string): (cause: unknown) => SvcError {
    return (cause) => {
      const code = cause instanceof StoreFault && cause.passing ? "unavailable" : "internal";
      const message = `cannot ${doing} ${this.#objects.url}: ${messageOf(cause)}`;
      return new SvcError(code, message, { cause });
    };
  }

  /** Repeats what fails for a moment, a few times. */
  async #insist<T>(call: (signal: AbortSignal) => Promise<T>, bytes = 0): Promise<T> {
    const patience_ms = this.#patience_ms + bytes / BYTES_PER_MS;
    for (let tries = 1;; tries++) {
      const stop = new AbortController();
      try {
        return await deadline(call(stop.signal), patience_ms).catch((error) => {
          if (error instanceof StoreFault || error?.name !== "TimeoutError") throw error;
          const why = `it did not answer within ${Math.round(patience_ms / 1000)} s`;
          throw new StoreFault(why, "check the connection to it", { passing: true, cause: error });
        });
      } catch (error) {
        stop.abort();
        if (!(error instanceof StoreFault && error.passing) || tries === TRIES) throw error;
        const wait_ms = WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random());
        await pause(this.#clock, wait_ms, new AbortController().signal);
      }
    }
  }
}
