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
const LATE = "it did not answer in time";
const CHECK = "check the connection to it";

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
    const write = (signal: AbortSignal) => this.#objects.write(key, bytes, signal);
    try {
      await this.#insist(`store artifact ${name} in`, write, bytes.length);
    } catch (error) {
      if (!(error instanceof SvcError && error.code === "unavailable")) throw error;
      throw new RetryableError(error.message, { cause: error });
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
    const doing = `read artifact ${artifact.name} of ${task_id} from`;
    const key = { task_id, sha256: artifact.sha256 };
    const source = await this.#insist(doing, (signal) => this.#objects.read(key, signal));
    return source && verified(source, artifact, (cause) => this.#failure(doing, cause));
  }

  /** Removes a task's artifacts. @throws like {@linkcode SharedArtifacts.open} */
  async remove(task_id: string): Promise<void> {
    await this.#insist(
      `remove the artifacts of ${task_id} from`,
      (signal) => this.#objects.remove(task_id, signal),
    );
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
    const found = await this.#insist("list the tasks in", (signal) => this.#objects.tasks(signal));
    const gone: string[] = [];
    // The listing comes first: a task is recorded before it can have artifacts.
    for (const task_id of found.filter((name) => TASK_ID.test(name))) {
      if (await exists(task_id)) {
        await this.#insist(
          `sweep the artifacts of ${task_id} in`,
          async () => await this.#objects.tidy?.(task_id),
        );
      } else {
        await this.remove(task_id);
        gone.push(task_id);
      }
    }
    return gone;
  }

  /** Repeats what fails for a moment, a few times. @param doing what fails, for the message */
  async #insist<T>(
    doing: string,
    call: (signal: AbortSignal) => Promise<T>,
    bytes = 0,
  ): Promise<T> {
    const patience_ms = this.#patience_ms + bytes / BYTES_PER_MS;
    for (let tries = 1;; tries++) {
      const stop = new AbortController();
      try {
        return await deadline(call(stop.signal), patience_ms);
      } catch (error) {
        stop.abort();
        const late = error instanceof DOMException && error.name === "TimeoutError";
        const cause = late ? new StoreFault(LATE, CHECK, { passing: true, cause: error }) : error;
        if (tries === TRIES || !mayPass(cause)) throw this.#failure(doing, cause);
      }
      const wait_ms = WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random());
      await pause(this.#clock, wait_ms, new AbortController().signal);
    }
  }

  #failure(doing: string, cause: unknown): SvcError {
    const message = `cannot ${doing} ${this.#objects.url}: ${messageOf(cause)}`;
    return new SvcError(mayPass(cause) ? "unavailable" : "internal", message, { cause });
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof StoreFault && error.passing;
}
