/**
 * Listings of directories that a repeated search remembers. The kernel changes a directory's `ctime`
 * with each entry that comes, goes or gets another name, and no program can choose it: with the same
 * `ctime` the entries are the same.
 */
import { readDirIfAllowed } from "../os/files.ts";
import { localDevice } from "../os/local_disk.ts";

export interface Listing {
  /** The entries that a search concerns itself with. */
  entries: readonly Deno.DirEntry[];
  /** The number of all entries. */
  count: number;
  /** Whether it has what each repository has, also one without a working tree. */
  is_git: boolean;
}

interface Known extends Listing {
  version: string;
}

/** Whether a search concerns itself with an entry. */
export type Concerns = (entry: Deno.DirEntry) => boolean;

/** Two changes within one tick of the file system's clock have the same `ctime`. */
const SETTLED_MS = 1_000;
/** Directories that are remembered. */
const DIRECTORIES_MAX = 30_000;

const GIT_DIRECTORY = ["HEAD", "objects", "refs"];

/** Lists a directory; an unreadable one counts as empty. @throws for lack of resources */
export function listDirectory(directory: string, concerns: Concerns): Listing {
  const all = readDirIfAllowed(directory);
  return {
    entries: all.filter(concerns),
    count: all.length,
    is_git: GIT_DIRECTORY.every((needed) => all.some(({ name }) => name === needed)),
  };
}

/** The listings of one search and the next ones in the same directory. */
export class Listings {
  readonly #known = new Map<string, Known>();
  /** The device of the directory that is searched; others are read each time. */
  readonly #device: number | undefined;

  /** @param workdir an absolute real path */
  constructor(workdir: string) {
    this.#device = localDevice(workdir);
  }

  /**
   * As {@linkcode listDirectory}, from memory if it has not changed.
   *
   * @param concerns must give the same answer for the same path each time
   */
  of(directory: string, concerns: Concerns): Listing {
    const version = this.#versionOf(directory);
    const known = this.#known.get(directory);
    if (known !== undefined && known.version === version?.text) return known;
    const now = Date.now();
    const listing = listDirectory(directory, concerns);
    this.#known.delete(directory);
    if (
      version !== undefined && version.changed_ms + SETTLED_MS < now &&
      this.#known.size < DIRECTORIES_MAX
    ) {
      this.#known.set(directory, { ...listing, version: version.text });
    }
    return listing;
  }

  #versionOf(directory: string): { text: string; changed_ms: number } | undefined {
    if (this.#device === undefined) return undefined;
    try {
      const { isDirectory, dev, ino, ctime } = Deno.lstatSync(directory);
      if (!isDirectory || dev !== this.#device || ctime === null) return undefined;
      return { text: `${ino}:${ctime.getTime()}`, changed_ms: ctime.getTime() };
    } catch {
      return undefined;
    }
  }
}
