import { readTextIfAny } from "../os/files.ts";
import type { Section } from "./section.ts";
import { type Config, configOf, DEFAULTS } from "./config.ts";

/**
 * Reads `daemon.toml`, or all defaults if it is missing.
 *
 * @throws {SvcError} validation, with file, line, key and the nearest known key
 */
export async function readConfig(path: string, sections: readonly Section[]): Promise<Config> {
  const text = await readTextIfAny(path);
  if (text === undefined) return configOf(structuredClone(DEFAULTS));
  const { parseConfig } = await import("./config_file.ts");
  return parseConfig(text, path, sections);
}
