/** Where the Markdown files of commands and skills are, and reading them. */
import { existsSync } from "node:fs";
import { join } from "@std/path";
import { decodeText } from "../../base/edits/encoding.ts";
import { realPathIfAny } from "../../os/files.ts";
import { RootedError } from "../../jail/rooted.ts";
import type { UntrustedFiles, UntrustedReader } from "../../jail/untrusted_files.ts";
import { visibleLine } from "../../base/visible.ts";
import { BadMarkdown } from "./front_matter.ts";

/** What cannot be used, and why. */
export interface Problem {
  path: string;
  message: string;
}

/** A directory of commands or skills. */
export interface Place {
  source: "project" | "home";
  /** Its path, for people. */
  path: string;
  /** Its path from where files are read. */
  directory: string;
  files: UntrustedFiles;
}

/** Whose commands and skills are looked for. */
export interface Owner {
  /** Home of svc. */
  home: string;
  /** Absolute real path of the session's directory. */
  workdir: string;
  /** What {@linkcode directoriesIn} found there. */
  directories: readonly string[];
  /** Returns the absolute real paths that no tool of the session can see. */
  hidden(): readonly string[];
}

/** The directories of a project, the first wins. */
const PROJECT_DIRECTORIES = [".agents", ".claude"];
/** The largest file that is read. */
const FILE_BYTES_MAX = 64 * 1024;
const PROBLEMS_MAX = 50;

/**
 * Returns the directories of a project that may have commands or skills. Most projects have none,
 * and they are looked for before each call of a model: without the errors of Deno's own functions,
 * which take ten times as long.
 */
export function directoriesIn(workdir: string): string[] {
  return PROJECT_DIRECTORIES.filter((name) => existsSync(join(workdir, name)));
}

/**
 * Returns the directories where something is looked for; the first wins.
 *
 * @param kind `commands` or `skills`
 */
export function placesOf(reader: UntrustedReader, kind: string, owner: Owner): Place[] {
  const { workdir, directories } = owner;
  const hidden = directories.length === 0 ? [] : owner.hidden();
  const places = directories.map((name): Place => ({
    source: "project",
    path: join(workdir, name, kind),
    directory: `${name}/${kind}`,
    files: reader.files(workdir, hidden),
  }));
  const path = join(owner.home, kind);
  // The person may keep it elsewhere and link to it; links in it must stay in it.
  const real = realPathIfAny(path);
  if (real !== undefined) {
    places.push({ source: "home", path, directory: ".", files: reader.files(real) });
  }
  return places;
}

/**
 * Reads a file in its own encoding.
 *
 * @returns undefined when there is none
 * @throws {BadMarkdown} when it is not text
 * @throws {RootedError}
 */
export function textIn(files: UntrustedFiles, path: string): string | undefined {
  const data = files.read(path, FILE_BYTES_MAX);
  if (data === undefined) return undefined;
  const text = decodeText(data)?.text;
  if (text === undefined || text.includes("\0")) throw new BadMarkdown("is not text");
  return text;
}

/** Collects what cannot be used. */
export class Problems {
  readonly found: Problem[] = [];
  /** Those of files that cannot be read. */
  readonly unreadable: Problem[] = [];

  add(path: string, message: string): void {
    if (this.found.length >= PROBLEMS_MAX) return;
    this.found.push({ path: visibleLine(path), message: visibleLine(message) });
  }

  /** Returns what `read` returns; `undefined`, with a problem, for a file that cannot be used. */
  try<T>(path: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      const before = this.found.length;
      if (error instanceof BadMarkdown) this.add(path, error.message);
      else if (error instanceof RootedError) {
        // The message begins with the path.
        this.add(path, error.message.slice(error.message.indexOf(": ") + 2));
      } else throw error;
      this.unreadable.push(...this.found.slice(before));
      return undefined;
    }
  }
}
