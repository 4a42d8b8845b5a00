/** The messages between the daemon and a jailed unit; both come from the same build. */

import type { FileChange } from "../../base/edits/changes.ts";
import type { Media } from "../../base/media.ts";
import type { Later, Leads } from "../runs_later.ts";

/** Characters of an output for the model and the journal. */
export const OUTPUT_MAX = 48 * 1024;

/** Operations of a tool have the tool's name; `browse`, `preview` and `find` are for people. */
export type UnitOp =
  | "stat"
  | "locate"
  | "read_file"
  | "read_text"
  | "write_file"
  | "edit_file"
  | "apply_patch"
  | "list_dir"
  | "browse"
  | "preview"
  | "glob"
  | "grep"
  | "find";

/** An expected failure is `ok: false` with a sentence in `output`. */
export interface UnitResult {
  ok: boolean;
  output: string;
  /** The files that were read whole or written, in their current state. */
  files?: FileSeen[];
  /** The image or document that was read. */
  media?: readonly Media[];
  /** Why nothing was written. */
  changed?: FileChanged;
  /** What a call has changed, or a dry one would change, within the limit for people. */
  changes?: FileChange[];
}

export type OpOutcome = Omit<UnitResult, "ok">;

/** The state of a file when it was read or written. */
export interface FileSeen {
  /** As in the call. */
  path: string;
  /** Identifies the file's state. */
  version: string;
  /** The whole text, unless it is long. */
  text?: string;
}

/** A file that has changed since it was last seen. */
export interface FileChanged {
  path: string;
  /** The text that was seen, if remembered. */
  before?: string;
  /** The current state, unless the text is long. */
  now?: FileSeen;
}

/**
 * Daemon to unit. `start` comes first, with the person's home and the unit's only directory, if it
 * has just one. `rest` asks it to free memory.
 */
export type UnitRequest =
  | { type: "start"; workdir: string | undefined; home: string | undefined }
  | {
    type: "call";
    id: number;
    op: UnitOp;
    args: unknown;
    workdir: string;
    hidden: readonly string[];
    prefix?: string;
  }
  | { type: "cancel"; id: number }
  | { type: "rest" };

/**
 * Unit to daemon. Every call gets one `result`, even if cancelled. `roams`: can serve any
 * directory.
 */
export type UnitResponse =
  | { type: "ready"; roams: boolean }
  | { type: "rested" }
  | ({ type: "result"; id: number } & UnitResult);

/** An expected failure; its message is for the model. */
export class UnitError extends Error {
  constructor(message: string, readonly changed?: FileChanged) {
    super(message);
    this.name = "UnitError";
  }
}

/** The arguments of a call. Reading an invalid one throws a {@linkcode UnitError}. */
export class UnitArgs {
  readonly #values: Record<string, unknown>;

  constructor(args: unknown) {
    if (typeof args !== "object" || args === null) {
      throw new UnitError("the arguments must be an object");
    }
    this.#values = args as Record<string, unknown>;
  }

  string(name: string, fallback?: string): string {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== "string") throw new UnitError(`"${name}" must be a string`);
    return value;
  }

  optionalString(name: string): string | undefined {
    return this.#values[name] === undefined || this.#values[name] === null
      ? undefined
      : this.string(name);
  }

  strings(name: string): string[] {
    const value = this.#values[name];
    if (!Array.isArray(value) || value.some((each) => typeof each !== "string")) {
      throw new UnitError(`"${name}" must be a list of strings`);
    }
    return value;
  }

  /** An integer from 1 to `max`; a larger one counts as `max`. */
  count(name: string, fallback: number, max: number): number {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== "number" || !Number.isInteger(value) || value < 1) {
      throw new UnitError(`"${name}" must be an integer of at least 1`);
    }
    return Math.min(value, max);
  }

  /** A list of objects; `undefined` if missing. */
  list(name: string): UnitArgs[] | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value)) throw new UnitError(`"${name}" must be a list`);
    return value.map((item) => new UnitArgs(item));
  }

  /** The files as the model last saw them, by the paths in this call. The daemon sets it. */
  seen(): Map<string, FileSeen> {
    const files = this.#values.seen as FileSeen[] | undefined;
    return new Map(files?.map((file) => [file.path, file]));
  }

  /** What runs later because other files lead to it. The daemon sets it. */
  leads(): Leads | undefined {
    const leads = this.#values.leads as [string, Later][] | undefined;
    return leads && new Map(leads);
  }

  with(values: Record<string, unknown>): UnitArgs {
    return new UnitArgs({ ...this.#values, ...values });
  }

  flag(name: string): boolean {
    const value = this.#values[name] ?? false;
    if (typeof value !== "boolean") throw new UnitError(`"${name}" must be true or false`);
    return value;
  }
}
