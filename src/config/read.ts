/** Reads `daemon.toml`. */
import { readTextIfAny } from "../os/files.ts";
import type { Section } from "./section.ts";
import { type Config, configOf, DEFAULTS } from "./config.ts";

/**
 * Reads the configuration.
 *
 * @param path the file; a missing one means all defaults.
 * @param sections the tables of features.
 * @throws {SvcError} validation, naming file, line, key and the nearest known key.
 */
export async function readConfig(path: string, sections: readonly Section[]): Promise<Config> {
  const text = await readTextIfAny(path);
  if (text === undefined) return configOf(structuredClone(DEFAULTS));
  const { parseConfig } = await import("./config_file.ts");
  return parseConfig(text, path, sections);
}
