/** The configuration as the code has it. */
import type * as z from "zod";
import type { OWN } from "./own_keys.ts";
import type { Section } from "./section.ts";

/** What becomes of a turn that a restart or a crash cut off. */
export type Continue = "always" | "ask" | "never";

/** The daemon's own keys, with every default filled in. */
export type OwnKeys = z.output<typeof OWN>;

/** The configuration: the daemon's own keys, and the tables of its features. */
export interface Config extends OwnKeys {
  /** The table of a feature, with every default filled in. */
  of<T>(section: Section<T>): T;
  /** Whether the file has the table of a feature. */
  has(section: Section): boolean;
}
