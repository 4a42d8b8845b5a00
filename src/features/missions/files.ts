/** The files of a mission for people and programs: its spec and two logs. */
import { join } from "@std/path";
import { messageOf } from "../../protocol/errors.ts";
import { checkPrivate, ensurePrivateDir } from "../../os/files.ts";
import type { Log } from "../../os/log.ts";

/** Absolute paths. */
export interface MissionPaths {
  sow_path: string;
  stdout_log: string;
  stderr_log: string;
}

/** The largest log in bytes; the mission's own log goes on. */
const LOG_MAX = 16 * 1024 * 1024;

/** Returns the paths of a mission's files. */
export function missionPaths(dir: string, mission_id: string): MissionPaths {
  const own = join(dir, mission_id);
  return {
    sow_path: join(own, "sow.json"),
    stdout_log: join(own, "stdout.log"),
    stderr_log: join(own, "stderr.log"),
  };
}

export class MissionFiles {
  readonly #paths: MissionPaths;
  readonly #log: Log;
  readonly #sizes = new Map<string, number>();

  /**
   * Creates the missing files of a mission.
   *
   * @param options.dir of all missions.
   * @throws {SvcError} permission_denied if one of them is too widely readable, foreign or a link.
   */
  constructor({ dir, mission_id, spec, log }: {
    dir: string;
    mission_id: string;
    spec: unknown;
    log: Log;
  }) {
    this.#log = log;
    this.#paths = missionPaths(dir, mission_id);
    ensurePrivateDir(dir);
    ensurePrivateDir(join(dir, mission_id));
    const { sow_path, stdout_log, stderr_log } = this.#paths;
    create(sow_path, `${JSON.stringify(spec, undefined, 2)}\n`);
    for (const path of [stdout_log, stderr_log]) {
      create(path, "");
      this.#sizes.set(path, Deno.statSync(path).size);
    }
  }

  /** Adds a line to a log. A log that cannot be written stops no mission. */
  append(line: string, stream: "stdout" | "stderr"): void {
    const path = stream === "stdout" ? this.#paths.stdout_log : this.#paths.stderr_log;
    const bytes = new TextEncoder().encode(`${line}\n`);
    const size = this.#sizes.get(path)! + bytes.length;
    if (size > LOG_MAX) return;
    try {
      Deno.writeFileSync(path, bytes, { append: true, create: false });
      this.#sizes.set(path, size);
    } catch (error) {
      this.#log.warn("cannot write the log of a mission", { path, error: messageOf(error) });
    }
  }
}

function create(path: string, text: string): void {
  if (checkPrivate(path, 0o600, "file")) return;
  Deno.writeTextFileSync(path, text, { createNew: true, mode: 0o600 });
}

/** Returns the last `n` lines of a log. */
export function tailOf(path: string, n: number): string {
  try {
    const lines = Deno.readTextFileSync(path).trimEnd().split("\n");
    return lines.slice(-n).join("\n");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
