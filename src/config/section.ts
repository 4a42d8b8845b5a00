/** Tables of daemon.toml for features. */
import type * as z from "zod";

/** A key that clients may change. */
export interface Setting {
  /** Whether a new value takes effect only after a restart. */
  readonly restart: boolean;
}

/** A table of daemon.toml with content `T`. */
export interface Section<T = unknown, N extends string = string, K extends string = string> {
  readonly name: N;
  /** Created lazily; a missing table is parsed as undefined. */
  schema(): z.ZodType<T>;
  /** Keys that clients may change. */
  readonly settings: Readonly<Record<K, Setting>>;
}

/** Settings of sections, such as `cortex.curator`. */
export type SettingKeyOf<S> = S extends Section<unknown, infer N, infer K> ? `${N}.${K}` : never;

/** Defines a feature's table. Each key has a description and a default, or is optional. */
export function section<const N extends string, S extends z.ZodType, K extends string = never>(
  name: N,
  makeSchema: () => S,
  settings = {} as Readonly<Record<K, Setting>>,
): Section<z.output<S>, N, K> {
  let schema: z.ZodType<z.output<S>> | undefined;
  return { name, schema: () => schema ??= makeSchema() as z.ZodType<z.output<S>>, settings };
}

/** Settings of features, by key in the file. */
export function settingsOf<S extends Section>(
  sections: readonly S[],
): Readonly<Record<SettingKeyOf<S>, Setting>> {
  const all = sections.flatMap(({ name, settings }) =>
    Object.entries(settings).map(([key, setting]) => [`${name}.${key}`, setting])
  );
  return Object.fromEntries(all) as Record<SettingKeyOf<S>, Setting>;
}
