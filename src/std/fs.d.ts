/** The part of `@std/fs` that is used here. */
export function ensureDir(dir: string | URL): Promise<void>;
export function emptyDir(dir: string | URL): Promise<void>;
export function exists(path: string | URL): Promise<boolean>;
export interface WalkEntry extends Deno.DirEntry {
  path: string;
}
export function walk(
  root: string | URL,
  options?: {
    maxDepth?: number;
    includeFiles?: boolean;
    includeDirs?: boolean;
    includeSymlinks?: boolean;
    exts?: string[];
    match?: RegExp[];
    skip?: RegExp[];
  },
): AsyncIterableIterator<WalkEntry>;
