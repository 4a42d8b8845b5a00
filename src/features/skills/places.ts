/** The places of commands and skills. */
import { existsSync } from "node:fs";
import { join } from "@std/path";
import { decodeText } from "../../base/edits/encoding.ts";
import { realPathIfAny } from "../../os/files.ts";
import { RootedError } from "../../jail/rooted.ts";
import type { UntrustedFiles, UntrustedReader } from "../../jail/untrusted_files.ts";
import { visibleLine } from "../../base/visible.ts";
import { BadMarkdown } from "./front_matter.ts";

/** Why a file cannot be used. */
interface Problem {
  path: string;
  message: string;
}

export interface Place {
  source: "project" | "home";
  /** For people. */
  path: string;
  /** Relative to the root of `files`. */
  directory: string;
  files: UntrustedFiles;
}

/** The session's places. */
export interface Owner {
  home: string;
  /** An absolute real path. */
  workdir: string;
  /** From {@linkcode directoriesIn}. */
  directories: readonly string[];
  /** Absolute real paths that the session's tools cannot see. */
  hidden(): readonly string[];
}

/** In order of precedence. */
const PROJECT_DIRECTORIES = [".agents", ".claude"];
const FILE_BYTES_MAX = 64 * 1024;
const PROBLEMS_MAX = 50;

/**
 * Returns a project's directories with commands or skills. Called before each model call, so it
 * avoids the errors of Deno's own functions, which take ten times as long.
 */
export function directoriesIn(workdir: string): string[] {
  return PROJECT_DIRECTORIES.filter((name) => existsSync(join(workdir, name)));
}

/** Returns the places in order of precedence. @param kind `commands` or `skills` */
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
  // The directory itself may be a link; links inside must stay inside.
  const real = realPathIfAny(path);
  if (real !== undefined) {
    places.push({ source: "home", path, directory: ".", files: reader.files(real) });
  }
  return places;
}

/**
 * Reads a file in its own encoding; undefined without one.
 * @throws {BadMarkdown} unless it is text; {RootedError}
 */
export function textIn(files: UntrustedFiles, path: string): string | undefined {
  const data = files.read(path, FILE_BYTES_MAX);
  if (data === undefined) return undefined;
  const text = decodeText(data)?.text;
  if (text === undefined || text.includes("\0")) throw new BadMarkdown("is not text");
  return text;
}

export class Problems {
  readonly found: Problem[] = [];
  /** Problems of unreadable files. */
  readonly unreadable: Problem[] = [];

  add(path: string, message: string): void {
    if (this.found.length >= PROBLEMS_MAX) return;
    this.found.push({ path: visibleLine(path), message: visibleLine(message) });
  }

  /** Runs `read`; returns undefined and adds a problem for an unusable file. */
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
