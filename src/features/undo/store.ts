/**
 * Stores states of a directory's files for one session, in svc's own git object store beside the
 * journal. A private index knows each file's size and times, so unchanged files are not read again.
 */
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import { concat } from "../../base/bytes.ts";
import { exactFiles } from "../../jail/rooted_exact.ts";
import { exists } from "../../os/files.ts";
import { SvcError } from "../../protocol/errors.ts";
import { directoriesOf } from "./choice.ts";
import { emptiedBy, lookThrough } from "./empty_directories.ts";
import {
  directoryDifferences,
  type Exclusion,
  type ExclusionReason,
  type FileDifference,
  indexEntry,
  isDirectory,
  isExec,
  isNameable,
  isReadable,
  modeDifferences,
  modeOf,
  type Modes,
  noteMode,
  parseRaw,
} from "./file_state.ts";
import { parseRenames, type Renamed } from "../../base/edits/renames.ts";
import { BatchReader, decode, lastLine, type Lines, parseLines, splitNames } from "./git_output.ts";
import { isSettled, lookOver } from "./look_over.ts";
import { startFromRepository } from "./repository_start.ts";
import { borrow, FILES, removeIfAny } from "./store_files.ts";
import {
  COMBINE,
  IGNORED,
  isJailed,
  makeStore,
  MATCHED,
  RECORD,
  runGit,
  SCAN,
  SCAN_IN,
  type StorePlace,
} from "./store_git.ts";
import { TreeWatch } from "./tree_watch.ts";

interface TakenState {
  state: string;
  /** Whether it differs from the previous one. */
  changed: boolean;
  /** Files that are not in it, without ignored ones. */
  excluded: Exclusion[];
}

/** Candidates for changes since the last state. */
interface Scan {
  paths: string[];
  /** Paths that were in the last state. */
  tracked: ReadonlySet<string>;
  /** The number of files whose names cannot be stored. */
  unnamed: number;
  /** Empty directories, without those that were in the last state with a file; undefined for many. */
  empty?: string[];
}

interface StoreLimits {
  /** Larger files are excluded. */
  file_bytes: number;
  /** Larger directories have no states. */
  files: number;
  /** New content per state. */
  new_bytes: number;
  /** Per state. */
  timeout_ms: number;
}

export const LIMITS: StoreLimits = {
  file_bytes: 10 * 1024 * 1024,
  files: 200_000,
  new_bytes: 2 * 1024 * 1024 * 1024,
  timeout_ms: 120_000,
};

/** From this many new files on, they go into one pack. */
const PACK_FROM = 200;
/** Files checked in one turn of the event loop. */
const LOOKED_AT_ONCE = 500;
/** The paths that a run of git gets as arguments, in characters. */
const ARGUMENTS_MAX = 60_000;
/** An upper bound of the average path, in bytes. */
const PATH_BYTES = 256;
const READ_MS = 60_000;
/** Git compares whole seconds, and the clock of files may be a few milliseconds behind. */
const RECENT_MS = 1_100;
/** Attempts at a state while files change. */
const TRIES = 8;

const PLAIN = "-r --no-renames --no-ext-diff --no-textconv --no-color --ignore-submodules=all";

export class FileStore {
  readonly #place: StorePlace;
  readonly #limits: StoreLimits;
  #modes: Modes | undefined;
  /**
   * Files that changed in the second before the last state. Git compares whole seconds, so it would
   * miss later changes of their modes within that second.
   */
  #recent: ReadonlySet<string> = new Set();
  /** The look of a small directory at the last state, which saves a run of git. */
  #seen: { print: string; state: string; excluded: Exclusion[] } | undefined;
  #is_closed = false;
  /** Whether git looks at the directory for each state. */
  #is_large = false;
  /** Of a large directory; null where there can be none. */
  #watch: TreeWatch | undefined | null;
  #opening: Promise<boolean> | undefined;
  /** The state since which the watch has noted changes. */
  #watched: { state: string; excluded: Exclusion[] } | undefined;

  private constructor(place: StorePlace, limits: StoreLimits) {
    this.#place = place;
    this.#limits = limits;
  }

  /**
   * Opens or creates a session's store.
   * @param place.dir see {@linkcode storePath}
   * @param excluded svc's own paths in the working directory, as patterns of .gitignore
   */
  static open(
    place: StorePlace,
    excluded: readonly string[],
    limits: StoreLimits = LIMITS,
  ): FileStore {
    const { dir } = place;
    if (!exists(join(dir, "config"))) {
      makeStore(dir, excluded);
      if (place.has_siblings) borrow(dir);
    }
    // A killed git leaves its locks; nothing else uses the store.
    for (const name of ["index.lock", "config.lock", "HEAD.lock"]) removeIfAny(join(dir, name));
    return new FileStore(place, limits);
  }

  /**
   * Takes the state of the files.
   * @param trusts_watch whether the files need not be looked at if none was noted to change
   * @throws {SvcError} unavailable for too many files or without git; timeout; internal
   * @throws the signal's reason
   */
  async take(signal: AbortSignal, { trusts_watch = false } = {}): Promise<TakenState> {
    const known = this.#last();
    const watched = this.#watched;
    if (trusts_watch && watched !== undefined && watched.state === known) {
      if (this.#watch?.isQuiet()) return { ...watched, changed: false };
    }
    const look = lookOver(this.#place.workdir);
    this.#is_large = look === undefined;
    const seen = this.#seen;
    if (look !== undefined && seen?.print === look.print && seen.state === known) {
      return { state: seen.state, changed: false, excluded: seen.excluded };
    }
    this.#seen = undefined;
    let watch: TreeWatch | undefined | null;
    const took = (state: string, excluded: Exclusion[], read_from_ms: number) => {
      // The look came first, so later changes make the next look differ.
      if (look !== undefined && isSettled(look, read_from_ms)) {
        this.#seen = { print: look.print, state, excluded };
      }
      // One that was opened meanwhile has not noted everything.
      if (watch && watch === this.#watch) this.#watched = { state, excluded };
      return { state, changed: state !== known, excluded };
    };
    const unreadable = new Set<string>();
    for (let tries = 1;; tries++) {
      this.#watched = undefined;
      if (this.#watch?.restart() === false) this.unwatch();
      watch = this.#watch;
      const scanned_ms = Date.now();
      const found = await this.#scan(signal);
      const { added, removed, excluded } = await this.#sort(found, unreadable);
      const last = this.#last();
      const is_same = this.#noteEmpty(found.empty, removed);
      if (last !== undefined && added.length + removed.length === 0 && is_same) {
        return took(last, excluded, scanned_ms);
      }
      const recorded_ms = Date.now();
      const { code, said, state } = await this.#record(added, removed, signal);
      if (code === 0) {
        this.#noteLast(state);
        return took(state, excluded, recorded_ms);
      }
      const bad = /Unable to process path (.*)$/m.exec(said)?.[1];
      if (bad !== undefined && added.includes(bad)) unreadable.add(bad);
      if (tries >= TRIES) {
        throw new SvcError("internal", `cannot keep the state of the files: ${lastLine(said)}`);
      }
    }
  }

  /**
   * Has the kernel note changes from now on, if the directory was large at the last state. The state
   * after the next one can then be there at once.
   *
   * @returns whether it does
   * @throws {SvcError} when git fails
   * @throws the signal's reason
   */
  async watch(signal: AbortSignal): Promise<boolean> {
    if (this.#watch !== undefined) return this.#watch !== null;
    if (!this.#is_large || this.#is_closed) return false;
    this.#opening ??= this.#openWatch(signal).finally(() => this.#opening = undefined);
    return await this.#opening;
  }

  async #openWatch(signal: AbortSignal): Promise<boolean> {
    const max = this.#limits.files * PATH_BYTES;
    const run = { sees_files: true, signal, max };
    const ignored = async () => {
      const names = usable(splitNames(await this.#output(IGNORED, run)));
      return names.filter((name) => name.endsWith("/")).map((path) => `./${path}\0`).join("");
    };
    const before = await ignored();
    this.#write(FILES.ignored, before);
    const matched = splitNames(await this.#output(MATCHED, run));
    const excluded = usable(matched).map((path) => path.slice("./".length, -1));
    const watch = await TreeWatch.open(this.#place.workdir, new Set(excluded), signal);
    try {
      // A change of the patterns was not noted yet.
      const is_same = watch === undefined || await ignored() === before;
      if (is_same && !this.#is_closed) this.#watch = watch ?? null;
    } finally {
      if (this.#watch !== watch) watch?.[Symbol.dispose]();
    }
    return this.#watch === watch && watch !== undefined;
  }

  unwatch(): void {
    this.#watch?.[Symbol.dispose]();
    this.#watch = undefined;
    this.#watched = undefined;
  }

  close(): void {
    this.#is_closed = true;
    this.unwatch();
  }

  /** Lists files that are new or may have changed. */
  async #scan(signal: AbortSignal): Promise<Scan> {
    // After a crash the index may be ahead of the last state; then all files are read again.
    if (this.#last() === undefined) await this.#startAnew(signal);
    const max = this.#limits.files * PATH_BYTES;
    const output = await this.#output(SCAN, { signal, sees_files: true, max });
    const names = splitNames(output);
    const end = names.indexOf("");
    const tracked = new Set(usable(names.slice(end)));
    const listed = names.slice(0, end).filter((name) => !name?.endsWith("/"));
    const directories = usable(names.slice(0, end)).filter((name) => name.endsWith("/"))
      .map((name) => name.slice(0, -1));
    // Git does not list a directory in a file's place.
    directories.push(...await this.#directoriesAmong([...tracked]));
    const inside = await this.#scanIn(directories, signal);
    const new_names = [...listed, ...inside.names];
    // svc cannot use a name that is not UTF-8.
    const unnamed = [...new_names, ...names.slice(end)].filter((name) => name === undefined).length;
    const found = new Set([...tracked, ...usable(new_names)]);
    if (found.size > this.#limits.files) throw tooMany(this.#limits.files);
    return { paths: [...found], tracked, unnamed, empty: inside.empty };
  }

  async #directoriesAmong(paths: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (let at = 0; at < paths.length; at += LOOKED_AT_ONCE) {
      const some = paths.slice(at, at + LOOKED_AT_ONCE);
      const looked = exactFiles(this.#place.workdir, []).look(some);
      found.push(...some.filter((_, n) => looked[n]?.kind === "directory"));
      await setImmediate();
    }
    return found;
  }

  /** Lists the new files, and the empty directories, in directories without a known file. */
  async #scanIn(
    directories: readonly string[],
    signal: AbortSignal,
  ): Promise<{ names: (string | undefined)[]; empty: string[] | undefined }> {
    if (directories.length === 0) return { names: [], empty: [] };
    const looked = await lookThrough(this.#place.workdir, directories);
    const { empty, filled } = looked ?? { empty: [], filled: directories };
    const known = new Set(this.#knownModes().empty);
    const asked = empty.filter((path) => !known.has(path));
    if (filled.length + asked.length === 0) return { names: [], empty: looked && empty };
    // Git would take the first characters of some names for options of its own.
    this.#write(FILES.wanted, asked.map((path) => `./${path}\0`).join(""));
    const is_long = filled.join().length > ARGUMENTS_MAX;
    const args = is_long ? ["."] : filled;
    const max = this.#limits.files * PATH_BYTES;
    const names = splitNames(
      await this.#output(SCAN_IN, { args, signal, sees_files: true, max }),
    );
    const end = names.indexOf("");
    const ignored = new Set(names.slice(end));
    return {
      names: names.slice(0, end),
      empty: looked && empty.filter((path) => !ignored.has(`./${path}`)),
    };
  }

  /** Notes the empty directories of now. @returns whether they are those of the last state. */
  #noteEmpty(found: readonly string[] | undefined, removed: readonly string[]): boolean {
    const modes = this.#knownModes();
    const before = modes.empty;
    delete modes.empty;
    if (found !== undefined) {
      modes.empty = [...new Set([...found, ...emptiedBy(this.#place.workdir, removed)])].sort();
    }
    return before?.join("\0") === modes.empty?.join("\0");
  }

  /** Makes an index with what the repository knows to be unchanged, or none. */
  async #startAnew(signal: AbortSignal): Promise<void> {
    this.#forgetIndex();
    if (!isJailed(this.#place)) return;
    try {
      const recent = await startFromRepository({
        ...this.#place,
        file_bytes: this.#limits.file_bytes,
        modes: this.#knownModes(),
        recent_from_ms: Date.now() - RECENT_MS,
        output: (script) =>
          this.#output(script, {
            signal,
            sees_files: true,
            max: 2 * this.#limits.files * PATH_BYTES,
          }),
      });
      if (recent !== undefined) {
        this.#recent = recent;
        return;
      }
    } catch {
      signal.throwIfAborted();
    }
    this.#forgetIndex();
  }

  /** Sorts files into stored, removed and excluded ones. */
  async #sort(
    found: Scan,
    unreadable: ReadonlySet<string>,
  ): Promise<{ added: string[]; removed: string[]; excluded: Exclusion[] }> {
    const { unnamed } = found;
    const added: string[] = [];
    const removed: string[] = [];
    const excluded: Exclusion[] = [];
    const modes = this.#knownModes();
    const recent = new Set<string>();
    const recent_from_ms = Date.now() - RECENT_MS;
    const other_modes = await this.#otherModes(found.paths, modes, (path, changed_ms) => {
      if (changed_ms >= recent_from_ms) recent.add(path);
    });
    const paths = [...found.paths, ...other_modes];
    const tracked = new Set([...found.tracked, ...other_modes]);
    let bytes = 0;
    const leaveOut = (path: string, reason: ExclusionReason) => {
      excluded.push({ path, reason });
      if (tracked.has(path)) removed.push(path);
      delete modes.other[path];
    };
    for (let n = 0; n < unnamed; n++) excluded.push({ path: "?", reason: "name" });
    for (let at = 0; at < paths.length; at += LOOKED_AT_ONCE) {
      const some = paths.slice(at, at + LOOKED_AT_ONCE);
      const files = exactFiles(this.#place.workdir, []);
      const looked = files.look(some);
      for (let n = 0; n < some.length; n++) {
        const path = some[n];
        const file = looked[n];
        if (path.endsWith("/")) leaveOut(path, "repository");
        else if (!isNameable(path, file?.kind === "symlink")) leaveOut(path, "name");
        else if (file === undefined || (file.kind !== "file" && file.kind !== "symlink")) {
          if (tracked.has(path)) removed.push(path);
          delete modes.other[path];
        } else if (unreadable.has(path) || file.kind === "file" && !isReadable(file.mode)) {
          leaveOut(path, "unreadable");
        } else if (file.size > this.#limits.file_bytes) leaveOut(path, "size");
        else {
          bytes += file.size;
          added.push(path);
          if ((file.names ?? 1) > 1) this.#watch?.alsoLookAt(path);
          if (file.changed_ms >= recent_from_ms) recent.add(path);
          if (file.kind === "symlink") delete modes.other[path];
          else noteMode(modes, path, file.mode);
        }
      }
      await setImmediate();
    }
    if (bytes > this.#limits.new_bytes) {
      throw new SvcError(
        "unavailable",
        `the directory has more than ${this.#limits.new_bytes / 1024 ** 3} GiB to keep`,
        { hint: "list what need not be kept in .gitignore" },
      );
    }
    this.#recent = recent;
    return { added, removed, excluded };
  }

  /**
   * Returns recent files with new modes that git did not list.
   * @param seen called with each recent file that git did not list
   */
  async #otherModes(
    listed: readonly string[],
    modes: Modes,
    seen: (path: string, changed_ms: number) => void,
  ): Promise<string[]> {
    const known = new Set(listed);
    const paths = [...this.#recent].filter((path) => !known.has(path));
    const found: string[] = [];
    for (let at = 0; at < paths.length; at += LOOKED_AT_ONCE) {
      const some = paths.slice(at, at + LOOKED_AT_ONCE);
      const files = exactFiles(this.#place.workdir, []);
      files.look(some).forEach((file, n) => {
        if (file?.kind !== "file") return;
        seen(some[n], file.changed_ms);
        if (modeOf(modes, some[n], isExec(file.mode)) !== file.mode) found.push(some[n]);
      });
      await setImmediate();
    }
    return found;
  }

  async #record(
    added: readonly string[],
    removed: readonly string[],
    signal: AbortSignal,
  ): Promise<{ code: number; said: string; state: string }> {
    removeIfAny(this.#path(FILES.last));
    this.#write(FILES.added, added.map((path) => `${path}\0`).join(""));
    this.#write(FILES.removed, removed.map((path) => `${path}\0`).join(""));
    this.#write(FILES.modes, JSON.stringify(this.#knownModes()));
    // Git puts files above this size into one pack.
    const pack = added.length >= PACK_FROM ? "-c core.bigFileThreshold=1" : "";
    let state = "";
    const decoder = new TextDecoder();
    const { code, said } = await runGit(this.#place, {
      script: `SVC_PACK=$1\n${RECORD}`,
      args: [pack],
      sees_files: true,
      signal,
      timeout_ms: this.#limits.timeout_ms,
      onStdout: (chunk) => state += decoder.decode(chunk),
    });
    state = state.trim();
    if (code === 0 && !/^[0-9a-f]{40,64}$/.test(state)) return { code: -1, said, state };
    return { code, said, state };
  }

  /** Reports whether the store has a state. */
  async has(state: string, signal: AbortSignal): Promise<boolean> {
    const { code } = await runGit(this.#place, {
      script: 'git cat-file -e "$1:files" && git cat-file -e "$1:modes"',
      args: [state],
      signal,
      timeout_ms: READ_MS,
      onStdout() {},
    });
    return code === 0;
  }

  async differences(from: string, to: string, signal: AbortSignal): Promise<FileDifference[]> {
    if (from === to) return [];
    const [before, after] = [await this.#modesOf(from, signal), await this.#modesOf(to, signal)];
    const script = `git diff-tree --raw -z --no-abbrev ${PLAIN} "$1:files" "$2:files"`;
    const max = this.#limits.files * PATH_BYTES;
    const raw = await this.#output(script, { args: [from, to], signal, max });
    const found = parseRaw(decode(raw), before, after);
    return [
      ...found,
      ...modeDifferences(before, after, new Set(found.map(({ path }) => path))),
      ...directoryDifferences(before, after),
    ];
  }

  /** Makes a state: `from` with these files as they are in `to` of each difference. */
  async combine(
    from: string,
    changes: readonly FileDifference[],
    signal: AbortSignal,
  ): Promise<string> {
    if (changes.length === 0) return from;
    const modes = await this.#modesOf(from, signal);
    if (modes.empty !== undefined) modes.empty = emptyAfter(modes.empty, changes);
    // First what goes: a directory may take a file's place.
    const sorted = changes.filter((it) => !isDirectory(it)).sort((one, other) =>
      Number(one.to !== undefined) - Number(other.to !== undefined)
    );
    let entries = "";
    for (const { path, to } of sorted) {
      if (to === undefined || to.link) delete modes.other[path];
      else noteMode(modes, path, to.mode);
      // An empty name means that only the permission bits differ.
      if (to?.object !== "") entries += `${indexEntry(to)}\t${path}\0`;
    }
    this.#write(FILES.wanted, entries);
    this.#write(FILES.combined_modes, JSON.stringify(modes));
    const output = await this.#output(COMBINE, { args: [from], signal, max: PATH_BYTES });
    const state = decode(output).trim();
    if (/^[0-9a-f]{40,64}$/.test(state)) return state;
    throw new SvcError("internal", "git made no state of the files");
  }

  /** Returns the unified diff of two states, up to `max_bytes`. */
  async patch(
    from: string,
    to: string,
    { max_bytes, signal }: { max_bytes: number; signal: AbortSignal },
  ): Promise<{ patch: string; truncated: boolean }> {
    if (from === to) return { patch: "", truncated: false };
    const script = `git diff-tree --patch --src-prefix=a/ --dst-prefix=b/ ${PLAIN} ` +
      `"$1:files" "$2:files" | head -c "$3"`;
    const output = await this.#output(script, {
      args: [from, to, String(max_bytes + 1)],
      signal,
      max: max_bytes + 1,
    });
    const truncated = output.length > max_bytes;
    return { patch: new TextDecoder().decode(output.subarray(0, max_bytes)), truncated };
  }

  /** Returns the files that became others, by their new paths, with the lines that differ. */
  async renames(from: string, to: string, signal: AbortSignal): Promise<Map<string, Renamed>> {
    if (from === to) return new Map();
    const script = `git diff-tree --numstat --diff-filter=R -z -l200 ` +
      `${PLAIN.replace("--no-renames", "--find-renames")} "$1:files" "$2:files"`;
    const max = this.#limits.files * PATH_BYTES;
    return parseRenames(decode(await this.#output(script, { args: [from, to], signal, max })));
  }

  /**
   * Returns how a file differs in two states, and the unified diff without context lines.
   * @param paths the file, and the one that became it, if it was renamed
   */
  async fileDifference(
    [from, to]: readonly [from: string, to: string],
    paths: readonly string[],
    { max_bytes, signal }: { max_bytes: number; signal: AbortSignal },
  ): Promise<{ patch: string; differences: FileDifference[] }> {
    if (from === to) return { patch: "", differences: [] };
    const args = [from, to, String(max_bytes), ...paths];
    const script = `from=$1 to=$2 max=$3; shift 3
git diff-tree --raw -z --no-abbrev ${PLAIN} "$from:files" "$to:files" -- "$@"
printf '\\0'
git diff-tree --patch --unified=0 ${PLAIN.replace("--no-renames", "--find-renames=1%")} \
  "$from:files" "$to:files" -- "$@" | head -c "$max"`;
    const output = decode(await this.#output(script, { args, signal, max: 2 * max_bytes }));
    const cut = output.indexOf("\0\0");
    const modes = this.#knownModes();
    const [raw, patch] = cut < 0
      ? ["", output.slice(1)]
      : [output.slice(0, cut + 1), output.slice(cut + 2)];
    return { patch, differences: parseRaw(raw, modes, modes) };
  }

  /** Returns added and deleted lines by file, for each pair of states. */
  async lines(
    pairs: readonly (readonly [from: string, to: string])[],
    signal: AbortSignal,
  ): Promise<Lines[]> {
    if (pairs.length === 0) return [];
    const max = this.#limits.files * PATH_BYTES;
    const names = pairs.flat().map((state) => `${state}:files`);
    const trees = decode(await this.#output('git rev-parse "$@"', { args: names, signal, max }))
      .trim().split("\n");
    this.#write(
      FILES.wanted,
      pairs.map((_, n) => `${trees[2 * n]} ${trees[2 * n + 1]}\n`).join(""),
    );
    const script = `git diff-tree --stdin --numstat -z ${PLAIN} <"$GIT_DIR/svc-wanted"`;
    const output = decode(await this.#output(script, { signal, max }));
    return parseLines(output);
  }

  /** Reads contents. @param take receives them in the order of `objects`; it may throw */
  async read(
    objects: readonly string[],
    take: (content: Uint8Array<ArrayBuffer>, n: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (objects.length === 0) return;
    this.#write(FILES.wanted, objects.map((object) => `${object}\n`).join(""));
    const reader = new BatchReader(take);
    const enough = new AbortController();
    let failed: { error: unknown } | undefined;
    try {
      const { code, said } = await runGit(this.#place, {
        script: `git cat-file --batch <"$GIT_DIR/svc-wanted"`,
        signal: AbortSignal.any([signal, enough.signal]),
        timeout_ms: this.#limits.timeout_ms,
        onStdout(chunk) {
          if (failed !== undefined) return;
          try {
            reader.push(chunk);
          } catch (error) {
            failed = { error };
            enough.abort(error);
          }
        },
      });
      if (failed === undefined && (code !== 0 || reader.count !== objects.length)) {
        throw new SvcError("internal", `cannot read the store of file states: ${lastLine(said)}`);
      }
    } catch (error) {
      throw failed === undefined ? error : failed.error;
    }
    if (failed !== undefined) throw failed.error;
  }

  /** Returns up to `max` ignored files and directories. */
  async ignored(max: number, signal: AbortSignal): Promise<string[]> {
    const script = `${IGNORED} | head -c ${max * PATH_BYTES}`;
    const output = await this.#output(script, {
      signal,
      sees_files: true,
      max: max * PATH_BYTES + 1,
    });
    const names = splitNames(output).filter((name) => name !== undefined && name !== "");
    return (names as string[]).filter((name) => !/(^|\/)\.svc\/$/i.test(name)).slice(0, max);
  }

  async #modesOf(state: string, signal: AbortSignal): Promise<Modes> {
    const max = 2 * this.#limits.files * PATH_BYTES;
    const script = 'git cat-file blob "$1:modes"';
    return JSON.parse(decode(await this.#output(script, { args: [state], signal, max })));
  }

  async #output(
    script: string,
    options: {
      args?: readonly string[];
      sees_files?: boolean;
      signal: AbortSignal;
      max: number;
    },
  ): Promise<Uint8Array> {
    const { max, ...run } = options;
    const chunks: Uint8Array[] = [];
    let length = 0;
    const enough = new AbortController();
    const too_much = tooMany(this.#limits.files);
    const { code, said } = await runGit(this.#place, {
      ...run,
      script,
      signal: AbortSignal.any([options.signal, enough.signal]),
      timeout_ms: options.sees_files ? this.#limits.timeout_ms : READ_MS,
      onStdout(chunk) {
        length += chunk.length;
        if (length > max) return enough.abort(too_much);
        chunks.push(chunk.slice());
      },
    });
    if (code !== 0) {
      throw new SvcError("internal", `git failed in the store of file states: ${lastLine(said)}`);
    }
    return concat(chunks);
  }

  // ── its own files ────────────────────────────────────────────────────────────────────────────

  #path(name: string): string {
    return join(this.#place.dir, name);
  }

  #write(name: string, text: string): void {
    Deno.writeTextFileSync(this.#path(name), text, { mode: 0o600 });
  }

  #last(): string | undefined {
    try {
      const text = Deno.readTextFileSync(this.#path(FILES.last)).trim();
      return /^[0-9a-f]{40,64}$/.test(text) ? text : undefined;
    } catch {
      return undefined;
    }
  }

  #noteLast(state: string): void {
    const path = this.#path(FILES.last);
    Deno.writeTextFileSync(`${path}.tmp`, `${state}\n`, { mode: 0o600 });
    Deno.renameSync(`${path}.tmp`, path);
  }

  #forgetIndex(): void {
    const usual = this.#knownModes().usual;
    this.#modes = { usual, other: {} };
    removeIfAny(this.#path("index"));
  }

  #knownModes(): Modes {
    if (this.#modes !== undefined) return this.#modes;
    try {
      this.#modes = JSON.parse(Deno.readTextFileSync(this.#path(FILES.modes))) as Modes;
    } catch {
      const mask = Deno.build.os === "windows" ? 0o022 : Deno.umask();
      this.#modes = { usual: { file: 0o666 & ~mask, exec: 0o777 & ~mask }, other: {} };
    }
    return this.#modes;
  }
}

/** Returns the names that svc can use. */
function usable(names: readonly (string | undefined)[]): string[] {
  return names.filter((name): name is string => !!name);
}

/** Returns the empty directories after changes. */
function emptyAfter(empty: readonly string[], changes: readonly FileDifference[]): string[] {
  const all = new Set(empty);
  for (const it of changes) if (isDirectory(it)) all.delete(it.path.slice(0, -1));
  for (const it of changes) {
    if (it.to === undefined) continue;
    // Nothing is empty in whose place or in which something is made.
    const path = isDirectory(it) ? it.path.slice(0, -1) : it.path;
    for (const taken of [path, ...directoriesOf(path)]) all.delete(taken);
    if (isDirectory(it)) all.add(path);
  }
  return [...all].sort();
}

function tooMany(files: number): SvcError {
  return new SvcError("unavailable", `the directory has more than ${files} files to keep`, {
    hint: "list what need not be kept in .gitignore, or start the session in a smaller directory",
  });
}
