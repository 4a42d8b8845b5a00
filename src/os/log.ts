/** The daemon's log: NDJSON, rotated, secrets masked (contract.md section 1). */
import { writeAllSync } from "../base/write_all.ts";
import { visibleJson } from "../base/visible_json.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

type Write = (message: string, fields?: Record<string, unknown>) => void;

export type Log = Readonly<Record<LogLevel, Write>>;

export interface LogFileOptions {
  path: string;
  level: LogLevel;
  /** Whether to write to standard error too (`svc serve` in the foreground). */
  stderr: boolean;
  /** Size at which the file is rotated. */
  max_bytes?: number;
  /** Rotated files kept. */
  keep?: number;
}

/** Writes to a rotated file. Never throws: a full disk must not stop the daemon. */
export class LogFile implements Log {
  #options: Required<LogFileOptions>;
  #file: Deno.FsFile | undefined;
  #size = 0;
  readonly #secrets = new Set<string>();
  readonly debug: Write = (message, fields) => this.#write("debug", message, fields);
  readonly info: Write = (message, fields) => this.#write("info", message, fields);
  readonly warn: Write = (message, fields) => this.#write("warn", message, fields);
  readonly error: Write = (message, fields) => this.#write("error", message, fields);

  constructor(options: LogFileOptions) {
    this.#options = { max_bytes: 10 * 1024 * 1024, keep: 5, ...options };
  }

  /** Masks values wherever they would appear. Ignores short ones. */
  mask(...secrets: (string | undefined)[]): void {
    for (const secret of secrets) if (secret && secret.length >= 8) this.#secrets.add(secret);
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #write(level: LogLevel, message: string, fields: Record<string, unknown> = {}): void {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(this.#options.level)) return;
    let line = JSON.stringify({ at: new Date().toISOString(), level, message, ...fields });
    for (const secret of this.#secrets) line = line.replaceAll(secret, "***");
    // People read it on a terminal.
    line = visibleJson(line);
    const bytes = new TextEncoder().encode(`${line}\n`);
    try {
      if (this.#options.stderr) writeAllSync(Deno.stderr, bytes);
    } catch {
      this.#options.stderr = false;
    }
    try {
      if (this.#size + bytes.length > this.#options.max_bytes) this.#rotate();
      this.#file ??= this.#open();
      writeAllSync(this.#file, bytes);
      this.#size += bytes.length;
    } catch {
      // It cannot be reported anywhere.
    }
  }

  #open(): Deno.FsFile {
    const file = Deno.openSync(this.#options.path, { append: true, create: true, mode: 0o600 });
    this.#size = file.statSync().size;
    return file;
  }

  #rotate(): void {
    this.close();
    const { path, keep } = this.#options;
    for (let n = keep - 1; n >= 0; n--) {
      try {
        Deno.renameSync(n === 0 ? path : `${path}.${n}`, `${path}.${n + 1}`);
      } catch {
        // It does not exist yet.
      }
    }
    this.#size = 0;
  }
}
