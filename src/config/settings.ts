/** The keys of `daemon.toml` that a client may change, each one value; those of features are in their sections. */
import type { Setting } from "./section.ts";

/** Those of the daemon itself, by the path of the key. */
export const SETTINGS = {
  "default_model": { restart: false },
  "default_workdir": { restart: false },
  "agent.approval": { restart: false },
  "agent.max_steps": { restart: false },
  "agent.budget_usd": { restart: false },
  "agent.critic": { restart: false },
  "journal.retention_hours": { restart: false },
  "journal.retention_mb": { restart: false },
  "sandbox.shell": { restart: true },
  "sandbox.network": { restart: false },
  "sandbox.units": { restart: true },
  "sandbox.max_processes": { restart: false },
  "sandbox.max_memory_mb": { restart: false },
  "sandbox.max_open_files": { restart: false },
  "sandbox.max_file_mb": { restart: false },
  "log.level": { restart: true },
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;
export type SettingValue = string | number | boolean;

export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[];

/** What a setting is, and why. */
export interface SettingState {
  /** What holds as the file is now. */
  value?: SettingValue;
  source: "default" | "file";
  /** What holds without the file. */
  default?: SettingValue;
  /** What the daemon works with, where that is something else until it starts or reads the file again. */
  in_use?: SettingValue;
  restart: boolean;
}

/** The settings as a file has them. */
export interface SettingsView<K extends string = string> {
  path: string;
  /** Of the file's text: another text has another. */
  revision: string;
  settings: Partial<Record<K, SettingState>>;
}

/** New values; null takes a key out of the file, so that its default holds. */
export type SettingChanges = Partial<Record<string, SettingValue | null>>;

/** What came of changes. */
export interface SettingsChanged<K extends string = string> {
  revision: string;
  /** The changed keys whose new value holds from the next start on. */
  restart: K[];
}
