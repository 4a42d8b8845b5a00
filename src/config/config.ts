/** `daemon.toml`, the operator's configuration (contract.md section 7). */
import type { Config, OwnKeys } from "./keys.ts";
import type { Section } from "./section.ts";

export { DEFAULTS } from "./defaults.ts";
export type * from "./keys.ts";

/** Creates a configuration. @param tables those of the file, as parsed by their sections */
export function configOf(own: OwnKeys, tables: Readonly<Record<string, unknown>> = {}): Config {
  const read = new Map<Section, unknown>();
  return {
    ...own,
    of<T>(section: Section<T>): T {
      if (Object.hasOwn(tables, section.name)) return tables[section.name] as T;
      // Creating a schema takes time, so defaults of missing tables are computed lazily.
      if (!read.has(section)) read.set(section, section.schema().parse(undefined));
      return read.get(section) as T;
    },
    has: ({ name }) => Object.hasOwn(tables, name),
  };
}
