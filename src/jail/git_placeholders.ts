/**
 * Files that stand in git directories while commands run, so that a command cannot make them: they
 * would lead git, which the person starts later, to other settings. A mount can keep what is there
 * from being changed, but cannot keep a name free.
 *
 * Git takes each of them for what is there without it. They go with the last command that could
 * write there; one that a killed daemon left is taken over by the next command.
 */
import { existsSync } from "node:fs";
import { basename, join } from "@std/path";
import { writeAllSync } from "../base/write_all.ts";
import { lacksForNow } from "../os/lacks.ts";

/** What each of them says, by its name: the git directory is its own common directory. */
const TEXTS = { "commondir": ".\n", "config.worktree": "", "info/attributes": "" };

/** How many running commands need each file. */
const held = new Map<string, number>();

/**
 * Has a file stand until it is let go, unless there is another one, which then is no placeholder.
 *
 * @param dir a git directory that was checked to contain no symlink
 * @param holds takes up the path, if it has to be let go
 * @returns whether there is a file now
 */
export function hold(dir: string, name: keyof typeof TEXTS, holds: string[]): boolean {
  const path = join(dir, name);
  const text = TEXTS[name];
  const count = held.get(path) ?? 0;
  // What is missing is an error to `lstatSync`, which takes much longer than this answer.
  const there = existsSync(path) ? textOf(path, text.length) : undefined;
  if (there !== undefined && there !== text) return true;
  if (there === undefined && !made(path, text)) return false;
  held.set(path, count + 1);
  holds.push(path);
  return true;
}

/** Whether a file in a git directory changes nothing for git, as the placeholders do. */
export function isPlaceholder(path: string): boolean {
  const name = Object.keys(TEXTS).find((each) => basename(each) === basename(path));
  const text = TEXTS[name as keyof typeof TEXTS];
  return text !== undefined && textOf(path, text.length) === text;
}

/** Lets files go, each as often as it was held. */
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
    // The directory is gone, or nobody can write it.
  }
}

/**
 * The start of a regular file; undefined where there is none.
 *
 * @throws {Error} when it cannot be told for now
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

/** Makes a file with its text, and never without: git, which runs at any time, refuses an empty one. */
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
      // On a full disk: git would not work with an empty one.
      Deno.removeSync(path);
      return false;
    } finally {
      file.close();
    }
  } catch {
    return false;
  }
}

/** Gives a file a second name, if that is free; undefined where the file system has no such names. */
function linked(path: string, name: string): boolean | undefined {
  try {
    Deno.linkSync(path, name);
    return true;
  } catch (error) {
    return error instanceof Deno.errors.AlreadyExists ? false : undefined;
  }
}
