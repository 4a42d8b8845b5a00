/**
 * Files that stand in git directories while commands run, so that a command cannot make them and
 * change the settings of the person's git. A mount can protect a file, but cannot keep a name free.
 *
 * Git treats each placeholder like a missing file. They are removed with the last command that
 * could write there; the next command takes over those of a killed daemon.
 */
import { existsSync } from "node:fs";
import { basename, join } from "@std/path";
import { writeAllSync } from "../base/write_all.ts";
import { lacksForNow } from "../os/lacks.ts";

/** "." makes the git directory its own common directory. */
const TEXTS = { "commondir": ".\n", "config.worktree": "", "info/attributes": "" };

/** How many running commands need each file. */
const held = new Map<string, number>();

/**
 * Makes a placeholder until {@linkcode letGo}, unless another file has the name.
 *
 * @param dir a git directory without symlinks
 * @param holds receives the path if it must be let go
 * @returns whether there is a file now
 */
export function hold(dir: string, name: keyof typeof TEXTS, holds: string[]): boolean {
  const path = join(dir, name);
  const text = TEXTS[name];
  const count = held.get(path) ?? 0;
  // Faster than an `lstatSync` that fails.
  const there = existsSync(path) ? textOf(path, text.length) : undefined;
  if (there !== undefined && there !== text) return true;
  if (there === undefined && !made(path, text)) return false;
  held.set(path, count + 1);
  holds.push(path);
  return true;
}

/** Reports whether a file has the text of a placeholder, so that git ignores it. */
export function isPlaceholder(path: string): boolean {
  const name = Object.keys(TEXTS).find((each) => basename(each) === basename(path));
  const text = TEXTS[name as keyof typeof TEXTS];
  return text !== undefined && textOf(path, text.length) === text;
}

/** Releases each file as often as it was held. */
export function letGo(paths: readonly string[]): void {
  for (const path of paths) {
    const left = (held.get(path) ?? 1) - 1;
    if (left > 0) {
      held.set(path, left);
      continue;
    }
    held.delete(path);
    removeIfAny(path);
  }
}

function removeIfAny(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // The directory is gone or cannot be written.
  }
}

/**
 * The text of a regular file up to `max_chars`; undefined if there is none. @throws {Error} when
 * the system lacks resources for now
 */
function textOf(path: string, max_chars: number): string | undefined {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    if (!isFile || size > max_chars) return isFile ? "\0" : undefined;
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (lacksForNow(error)) throw error;
    return error instanceof Deno.errors.NotFound ? undefined : "\0";
  }
}

/** Makes a file in one step with its text: git may run at any time, and rejects an empty one. */
function made(path: string, text: string): boolean {
  if (text === "") return written(path, text);
  const whole = `${path}.${crypto.randomUUID()}`;
  const done = written(whole, text) && (linked(whole, path) ?? written(path, text));
  removeIfAny(whole);
  return done;
}

function written(path: string, text: string): boolean {
  try {
    const file = Deno.openSync(path, { write: true, createNew: true, mode: 0o644 });
    try {
      writeAllSync(file, new TextEncoder().encode(text));
      return true;
    } catch {
      // On a full disk: git rejects an empty file.
      Deno.removeSync(path);
      return false;
    } finally {
      file.close();
    }
  } catch {
    return false;
  }
}

/** Adds a name to a file, if it is free; undefined if the file system has no hard links. */
function linked(path: string, name: string): boolean | undefined {
  try {
    Deno.linkSync(path, name);
    return true;
  } catch (error) {
    return error instanceof Deno.errors.AlreadyExists ? false : undefined;
  }
}
