/**
 * Knows without a look at its files that a large directory is unchanged: the kernel notes each change
 * in its directories. It is not told of a change through a name outside of the directory, so files
 * with several names are looked at, nor of one through memory that a program has mapped, which is
 * seen with the next change of anything.
 */
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import { type ExactFiles, exactFiles } from "../../jail/rooted_exact.ts";
import { exists } from "../../os/files.ts";
import { Inotify } from "../../os/inotify.ts";
import { localDevice } from "../../os/local_disk.ts";
import { SKIPPED } from "./look_over.ts";

/** A person's programs share the watches that the kernel allows, 65,536 or more as a rule. */
const DIRECTORIES_MAX = 20_000;
/** Files with several names. */
const LINKED_MAX = 200;
/** Changes whose files are looked at one by one. */
const CHANGES_MAX = 1_000;
/** How long the building blocks the event loop. */
const SLICE_MS = 4;
export class TreeWatch implements Disposable {
  readonly #workdir: string;
  readonly #inotify: Inotify;
  readonly #files: ExactFiles;
  readonly #device: number;
  /** Directories that no state includes, by path. */
  readonly #excluded: ReadonlySet<string>;
  /** By number. */
  readonly #directories = new Map<number, string>();
  /** The versions of files with several names, by path. */
  readonly #linked = new Map<string, string | undefined>();

  private constructor(
    workdir: string,
    excluded: ReadonlySet<string>,
    device: number,
    inotify: Inotify,
  ) {
    this.#workdir = workdir;
    this.#excluded = excluded;
    this.#device = device;
    this.#inotify = inotify;
    this.#files = exactFiles(workdir, []);
  }

  /**
   * Watches a directory and what is below it.
   *
   * @param workdir its absolute real path
   * @param excluded directories that no state includes
   * @returns undefined where changes would be missed: on another system or a shared disk, with
   *   another file system below it, or in too many directories
   * @throws the signal's reason
   */
  static async open(
    workdir: string,
    excluded: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<TreeWatch | undefined> {
    const device = localDevice(workdir);
    const inotify = device === undefined ? undefined : Inotify.open();
    if (device === undefined || inotify === undefined) return undefined;
    const watch = new TreeWatch(workdir, excluded, device, inotify);
    let is_whole = false;
    try {
      is_whole = await watch.#addAll(signal);
      return is_whole ? watch : undefined;
    } finally {
      if (!is_whole) watch[Symbol.dispose]();
    }
  }

  async #addAll(signal: AbortSignal): Promise<boolean> {
    let since_ms = performance.now();
    const left = [""];
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if (performance.now() - since_ms > SLICE_MS) {
        await setImmediate();
        signal.throwIfAborted();
        since_ms = performance.now();
      }
      const below = this.#add(at);
      if (below === undefined) return false;
      left.push(...below);
    }
    return true;
  }

  /** Watches a directory. @returns those in it; undefined if some of it would be missed */
  #add(directory: string): string[] | undefined {
    const path = join(this.#workdir, directory);
    const number = this.#inotify.add(path);
    // One that has gone was noted in the directory above.
    if (number === undefined) return directory !== "" && !exists(path) ? [] : undefined;
    this.#directories.set(number, directory);
    if (this.#directories.size > DIRECTORIES_MAX) return undefined;
    const below: string[] = [];
    const files: string[] = [];
    try {
      if (Deno.lstatSync(path).dev !== this.#device) return undefined;
      for (const { name, isDirectory, isFile } of Deno.readDirSync(path)) {
        // The files of another repository are in no state.
        if (name === ".git" && directory !== "") return [];
        const inside = directory === "" ? name : `${directory}/${name}`;
        if (isFile) files.push(inside);
        if (!isDirectory || SKIPPED.has(name) || this.#excluded.has(inside)) continue;
        // Its real name has other bytes.
        if (name.includes("\uFFFD")) return undefined;
        below.push(inside);
      }
    } catch {
      return undefined;
    }
    this.#noteLinked(files);
    return this.#linked.size > LINKED_MAX ? undefined : below;
  }

  #noteLinked(paths: readonly string[]): void {
    this.#files.look(paths).forEach((file, n) => {
      if (file?.kind === "file" && (file.names ?? 1) > 1) this.#linked.set(paths[n], file.version);
    });
  }

  /** Looks at a file each time: it has several names. */
  alsoLookAt(path: string): void {
    this.#linked.set(path, this.#files.look([path])[0]?.version);
  }

  /** Reports whether nothing has changed since the last {@linkcode TreeWatch.restart}. */
  isQuiet(): boolean {
    if (!this.#inotify.isQuiet()) return false;
    const paths = [...this.#linked.keys()];
    return this.#files.look(paths).every((file, n) => file?.version === this.#linked.get(paths[n]));
  }

  /** Counts changes from now on. @returns whether it still sees all of them */
  restart(): boolean {
    const changes = this.#inotify.take();
    const paths = new Set<string>();
    for (const { watch, name, new_directory, lost } of changes) {
      const directory = this.#directories.get(watch);
      const path = directory === "" ? name : `${directory}/${name}`;
      const is_new = new_directory && !SKIPPED.has(name) && !this.#excluded.has(path);
      // Other directories may be excluded, or other repositories, or the directory is another one.
      const excludes = name === ".gitignore" || name === ".git" && directory !== "";
      if (lost || is_new || excludes || path === "") return false;
      if (name !== "") paths.add(path);
    }
    if (paths.size > CHANGES_MAX) return false;
    this.#noteLinked([...paths]);
    const linked = [...this.#linked.keys()];
    this.#files.look(linked).forEach((file, n) => this.#linked.set(linked[n], file?.version));
    return linked.length <= LINKED_MAX;
  }

  [Symbol.dispose](): void {
    this.#inotify[Symbol.dispose]();
  }
}
