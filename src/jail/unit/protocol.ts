/** What the daemon and a jailed unit say to each other; both sides are of the same build. */

/** The operations of a unit; those behind a tool are named as it is. */
export const UNIT_OPS = [
  "stat",
  "read_file",
  "read_text",
  "write_file",
  "edit_file",
  "apply_patch",
  "list_dir",
  "glob",
  "grep",
] as const;

/** One of the operations. */
export type UnitOp = typeof UNIT_OPS[number];

/** What an operation gives back; an expected failure is `ok: false` with a sentence in `output`. */
export interface UnitResult {
  ok: boolean;
  output: string;
  /** The files that were read whole or written, as they are now. */
  files?: FileSeen[];
  /** Why nothing was written. */
  changed?: FileChanged;
}

/** What an operation that succeeds gives back. */
export type OpOutcome = Omit<UnitResult, "ok">;

/** A file as it was when it was read or written. */
export interface FileSeen {
  /** As the call named it. */
  path: string;
  /** Of the file's state. */
  version: string;
  /** The whole text, unless it is long. */
  text?: string;
}

/** A file that is not as it was last seen. */
export interface FileChanged {
  path: string;
  /** The text that was seen, if it was remembered. */
  before?: string;
  /** What it is now, unless it is long. */
  now?: FileSeen;
}

/**
 * Daemon to unit. `start` comes first and once: with the only directory of the unit, or without one
 * for a unit that takes the directory of each call. `rest` asks it to give back what it no longer
 * needs.
 */
export type UnitRequest =
  | { type: "start"; workdir: string | undefined }
  | {
    type: "call";
    id: number;
    op: UnitOp;
    args: unknown;
    workdir: string;
    hidden: readonly string[];
  }
  | { type: "cancel"; id: number }
  | { type: "rest" };

/**
 * Unit to daemon. Every call gets one `result`, a cancelled one too. `roams` is whether the unit can
 * serve any directory.
 */
export type UnitResponse =
  | { type: "ready"; roams: boolean }
  | { type: "rested" }
  | ({ type: "result"; id: number } & UnitResult);

/** An expected failure of an operation; its message is for the model. */
export class UnitError extends Error {
  constructor(message: string, readonly changed?: FileChanged) {
    super(message);
    this.name = "UnitError";
  }
}

/** The arguments of a call, read one by one; what does not fit is a {@linkcode UnitError}. */
export class UnitArgs {
  readonly #values: Record<string, unknown>;

  constructor(args: unknown) {
    if (typeof args !== "object" || args === null) {
      throw new UnitError("the arguments must be an object");
    }
    this.#values = args as Record<string, unknown>;
  }

  /** A string that must be there, or `fallback` where one is given. */
  string(name: string, fallback?: string): string {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== "string") throw new UnitError(`"${name}" must be a string`);
    return value;
  }

  /** A string, or `undefined` where there is none. */
  optionalString(name: string): string | undefined {
    return this.#values[name] === undefined || this.#values[name] === null
      ? undefined
      : this.string(name);
  }

  /** A whole number from 1 to `max`; a larger one counts as `max`. */
  count(name: string, fallback: number, max: number): number {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== "number" || !Number.isInteger(value) || value < 1) {
      throw new UnitError(`"${name}" must be a whole number from 1`);
    }
    return Math.min(value, max);
  }

  /** A list of objects, each read like these arguments; `undefined` where there is none. */
  list(name: string): UnitArgs[] | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value)) throw new UnitError(`"${name}" must be a list`);
    return value.map((item) => new UnitArgs(item));
  }

  /** The files as the model last saw them, by the paths of this call; from the daemon itself. */
  seen(): Map<string, FileSeen> {
    const files = this.#values.seen as FileSeen[] | undefined;
    return new Map(files?.map((file) => [file.path, file]));
  }

  /** These arguments and more. */
  with(values: Record<string, unknown>): UnitArgs {
    return new UnitArgs({ ...this.#values, ...values });
  }

  flag(name: string): boolean {
    const value = this.#values[name] ?? false;
    if (typeof value !== "boolean") throw new UnitError(`"${name}" must be true or false`);
    return value;
  }
}
