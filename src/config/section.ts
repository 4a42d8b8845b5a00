/** The tables of daemon.toml that belong to features. */
import type * as z from "zod";

/** A key that a client may change. */
export interface Setting {
  /** What has begun with the old value goes on with it until the daemon starts again. */
  readonly restart: boolean;
}

/** A table of daemon.toml: `T` is its content with every default filled in. */
export interface Section<T = unknown, N extends string = string, K extends string = string> {
  readonly name: N;
  /** Made on first use; a missing table is parsed as undefined. */
  schema(): z.ZodType<T>;
  /** The keys that clients may change. */
  readonly settings: Readonly<Record<K, Setting>>;
}

/** The settings of sections, such as `cortex.curator`. */
export type SettingKeyOf<S> = S extends Section<unknown, infer N, infer K> ? `${N}.${K}` : never;

/** Defines the table of a feature. Each key has a description and a default, or is optional. */
export function section<const N extends string, S extends z.ZodType, K extends string = never>(
  name: N,
  makeSchema: () => S,
  settings = {} as Readonly<Record<K, Setting>>,
): Section<z.output<S>, N, K> {
  let schema: z.ZodType<z.output<S>> | undefined;
  return { name, schema: () => schema ??= makeSchema() as z.ZodType<z.output<S>>, settings };
}

/** The settings of features by their keys in the file. */
export function settingsOf<S extends Section>(
  sections: readonly S[],
): Readonly<Record<SettingKeyOf<S>, Setting>> {
  const all = sections.flatMap(({ name, settings }) =>
    Object.entries(settings).map(([key, setting]) => [`${name}.${key}`, setting])
  );
  return Object.fromEntries(all) as Record<SettingKeyOf<S>, Setting>;
}
