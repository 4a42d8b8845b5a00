/** Keys of `daemon.toml` that clients may change; those of features are in their sections. */
import type * as z from "zod";
import type { settingStateSchema, settingsViewSchema } from "../protocol/schemas/daemon.ts";
import type { Setting } from "./section.ts";

/** The daemon's own settings. */
export const SETTINGS = {
  "default_model": { restart: false },
  "default_workdir": { restart: false },
  "agent.approval": { restart: false },
  "agent.effort": { restart: false },
  "agent.max_steps": { restart: false },
  "agent.budget_usd": { restart: false },
  "agent.continue": { restart: false },
  "agent.critic": { restart: false },
  "agent.titles": { restart: false },
  "journal.retention_hours": { restart: false },
  "journal.retention_mb": { restart: false },
  "sandbox.shell": { restart: true },
  "sandbox.network": { restart: false },
  "sandbox.registries": { restart: false },
  "sandbox.login_path": { restart: true },
  "sandbox.units": { restart: true },
  "sandbox.max_processes": { restart: false },
  "sandbox.max_memory_mb": { restart: false },
  "sandbox.max_open_files": { restart: false },
  "sandbox.max_file_mb": { restart: false },
  "sandbox.max_tmp_mb": { restart: false },
  "sandbox.max_cache_mb": { restart: false },
  "log.level": { restart: true },
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;
export type SettingValue = string | number | boolean;

export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[];

export type SettingState = z.output<ReturnType<typeof settingStateSchema>>;

export type SettingsView<K extends string = string> = z.output<
  ReturnType<typeof settingsViewSchema<K>>
>;

/** New values; null removes a key, to restore its default. */
export type SettingChanges = Partial<Record<string, SettingValue | null>>;

export interface SettingsChanged<K extends string = string> {
  revision: string;
  /** Changed keys that take effect after a restart. */
  restart: K[];
}
