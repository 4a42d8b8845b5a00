/** Reads `daemon.toml`. */
import { readTextIfAny } from "../os/files.ts";
import { type Config, DEFAULTS } from "./config.ts";

/**
 * Reads the configuration.
 *
 * @param path the file; a missing one means all defaults.
 * @throws {SvcError} validation, naming file, line, key and the nearest known key.
 */
export async function readConfig(path: string): Promise<Config> {
  const text = await readTextIfAny(path);
  if (text === undefined) return structuredClone(DEFAULTS);
  const { parseConfig } = await import("./config_file.ts");
  return parseConfig(text, path);
}
