/** Types of the configuration. */
import type * as z from "zod";
import type { OWN } from "./own_keys.ts";
import type { Section } from "./section.ts";

/** The daemon's own keys, with defaults. */
export type OwnKeys = z.output<typeof OWN>;

export interface Config extends OwnKeys {
  /** The table of a feature, with defaults. */
  of<T>(section: Section<T>): T;
  has(section: Section): boolean;
}
