/**
 * Starts a store from the repository in the working directory, so that tracked files which git knows
 * to be unchanged are not read. Reads the repository and never writes in it.
 */
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import { type ExactFile, exactFiles } from "../../jail/rooted_exact.ts";
import { exists } from "../../os/files.ts";
import { isNameable, isReadable, type Modes, noteMode } from "./file_state.ts";
import { splitNames } from "./git_output.ts";
import { BORROWED, copyWithTime, FILES, linkIfNew } from "./store_files.ts";

interface StartParts {
  /** An absolute real path with a `.git`. */
  workdir: string;
  /** The store's directory. */
  dir: string;
  /** Larger files are excluded. */
  file_bytes: number;
  /** Gets the permission bits of the files. */
  modes: Modes;
  /** Files that changed later are returned. */
  recent_from_ms: number;
  /** Runs a script of git on the store and returns its output. */
  output(script: string): Promise<Uint8Array>;
}

interface Tracked {
  path: string;
  link: boolean;
  /** The size of its content; undefined if the store cannot use the entry. */
  size?: number;
}

/** Entries of the index, an empty name, the types and sizes of their objects, and ignored entries. */
const TRACKED = `git ls-files -c -i --exclude-standard -z >"$GIT_DIR/${FILES.changed}" &
git ls-files --stage -v -z || exit 91
printf '\\0'
git ls-files --stage | cut -c8-47 |
  git cat-file --buffer --batch-check='%(objecttype) %(objectsize)' || exit 92
printf '\\0'
wait $! || exit 93
cat "$GIT_DIR/${FILES.changed}"`;
const DROP = `git update-index -z --force-remove --stdin <"$GIT_DIR/${FILES.removed}"`;

/** Repositories with more objects outside of packs are not used. */
const LOOSE_MAX = 20_000;
const INDEX_BYTES = 256 * 1024 * 1024;
const TEXT_BYTES = 1024 * 1024;
/** Files checked in one turn of the event loop. */
const LOOKED_AT_ONCE = 500;

/**
 * Gives an empty store the index and the objects of the repository. Of the index remain the files
 * whose content in the working directory is that of their object.
 * @returns recent files; undefined if the repository cannot be used. The store may then have an index
 * @throws what `output` throws
 */
export async function startFromRepository(parts: StartParts): Promise<Set<string> | undefined> {
  const { workdir, dir, file_bytes, modes, recent_from_ms, output } = parts;
  const git = join(workdir, ".git");
  if (!isUsable(git) || !await copyFrom(git, dir)) return undefined;
  const tracked = parseTracked(await output(TRACKED));
  if (tracked === undefined) return undefined;
  const dropped: string[] = [];
  const recent = new Set<string>();
  for (let at = 0; at < tracked.length; at += LOOKED_AT_ONCE) {
    const some = tracked.slice(at, at + LOOKED_AT_ONCE);
    const looked = exactFiles(workdir, []).look(some.map(({ path }) => path));
    for (let n = 0; n < some.length; n++) {
      const [{ path, link }, file] = [some[n], looked[n]];
      if (file === undefined || file.size > file_bytes || !isSame(some[n], file)) {
        dropped.push(path);
        continue;
      }
      if (isAttributes(path) && changesContent(join(workdir, path))) return undefined;
      if (file.changed_ms >= recent_from_ms) recent.add(path);
      if (!link) noteMode(modes, path, file.mode);
    }
    await setImmediate();
  }
  const names = dropped.map((path) => `${path}\0`).join("");
  Deno.writeTextFileSync(join(dir, FILES.removed), names, { mode: 0o600 });
  // Also forgets what the repository's index says about fsmonitor and untracked files.
  await output(DROP);
  return recent;
}

function isSame({ path, link, size }: Tracked, file: ExactFile): boolean {
  return file.size === size && file.kind === (link ? "symlink" : "file") &&
    isNameable(path, link) && (link || isReadable(file.mode));
}

/** Reports whether git of this store can read the repository's index. */
function isUsable(git: string): boolean {
  const config = readIfSmall(join(git, "config"));
  // An index with other names of objects.
  if (config === undefined || /objectformat/i.test(config)) return false;
  const attributes = join(git, "info", "attributes");
  return !exists(attributes) || !changesContent(attributes);
}

function isAttributes(path: string): boolean {
  return path === ".gitattributes" || path.endsWith("/.gitattributes");
}

/**
 * Reports whether attributes may make content differ from its object without a difference of size.
 * Git LFS, line ends and keywords change the size.
 */
function changesContent(path: string): boolean {
  const text = readIfSmall(path);
  return text === undefined || /filter\s*=(?!lfs\b)|working-tree-encoding\s*=/.test(text);
}

function readIfSmall(path: string): string | undefined {
  return isFile(path, TEXT_BYTES) ? Deno.readTextFileSync(path) : undefined;
}

function isFile(path: string, max_bytes: number): boolean {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile && size <= max_bytes;
  } catch {
    return false;
  }
}

function isDirectory(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** Copies the index, and makes hard links to objects: these never change. */
async function copyFrom(git: string, dir: string): Promise<boolean> {
  const objects = join(git, "objects");
  const index = join(git, "index");
  if (![git, objects, join(objects, "pack")].every(isDirectory)) return false;
  if (!isFile(index, INDEX_BYTES)) return false;
  try {
    // The index first: its objects were there before it.
    copyWithTime(index, join(dir, "index"));
    Deno.chmodSync(join(dir, "index"), 0o600);
    const alternates = join(dir, "objects", "info", "alternates");
    Deno.writeTextFileSync(alternates, `../${BORROWED}\n`, { mode: 0o600 });
    let loose = 0;
    for (const { name, isDirectory } of Deno.readDirSync(objects)) {
      const names = name === "pack"
        ? /^pack-[0-9a-f]+\.(pack|idx)$/
        : /^[0-9a-f]{2}$/.test(name)
        ? /^[0-9a-f]{38}$/
        : undefined;
      if (!isDirectory || names === undefined) continue;
      const linked = linkFiles(join(objects, name), join(dir, BORROWED, name), names);
      if (name !== "pack") loose += linked;
      if (loose > LOOSE_MAX) return false;
      await setImmediate();
    }
    return true;
  } catch {
    // On another file system, of another person, or being packed.
    return false;
  }
}

function linkFiles(from: string, to: string, names: RegExp): number {
  Deno.mkdirSync(to, { recursive: true, mode: 0o700 });
  let linked = 0;
  for (const { name, isFile } of Deno.readDirSync(from)) {
    if (!isFile || !names.test(name)) continue;
    linkIfNew(join(from, name), join(to, name));
    linked++;
  }
  return linked;
}

/** @returns undefined for names that are not UTF-8 */
function parseTracked(output: Uint8Array): Tracked[] | undefined {
  const names = splitNames(output);
  if (names.includes(undefined)) return undefined;
  const parts = names as string[];
  const end = parts.indexOf("");
  const sizes = parts[end + 1].split("\n");
  const ignored = new Set(parts.slice(end + 2));
  return parts.slice(0, end).map((entry, n) => {
    const tab = entry.indexOf("\t");
    const path = entry.slice(tab + 1);
    // Not assumed unchanged, sparse, in conflict, or a submodule.
    const [, mode] = /^H (100644|100755|120000) [0-9a-f]{40} 0$/.exec(entry.slice(0, tab)) ?? [];
    const [, size] = /^blob (\d+)$/.exec(sizes[n]) ?? [];
    if (mode === undefined || size === undefined || ignored.has(path)) {
      return { path, link: false };
    }
    return { path, link: mode === "120000", size: Number(size) };
  });
}
