/** Edits `daemon.toml`; keeps comments, order and layout. */
import { patch } from "@decimalturn/toml-patch";
import { sha256Hex } from "../base/sha256.ts";
import { parse } from "smol-toml";
import { isDeepStrictEqual } from "node:util";
import { InvalidParams, messageOf, SvcError } from "../protocol/errors.ts";
import { atomicWrite, checkPrivate, readTextIfAny } from "../os/files.ts";
import { type Config, configOf, DEFAULTS } from "./config.ts";
import { parseConfig } from "./config_file.ts";
import { type Section, type Setting, settingsOf } from "./section.ts";
import {
  type SettingChanges,
  SETTINGS,
  type SettingsChanged,
  type SettingState,
  type SettingsView,
  type SettingValue,
} from "./settings.ts";

interface ConfigEditorParts {
  /** The file, which may be missing. */
  path: string;
  sections: readonly Section[];
  /** The configuration at the start. */
  started: Config;
  /** The current configuration. */
  config(): Config;
  /** Makes the daemon read the file again. @throws {SvcError} */
  reload(): Promise<void>;
  /** Checks that an id leads to a model. @throws when it does not */
  checkModel(id: string): void;
}

type Table = Record<string, unknown>;

export class ConfigEditor {
  readonly #parts: ConfigEditorParts;
  readonly #settings: Readonly<Record<string, Setting>>;
  /** Changes run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: ConfigEditorParts) {
    this.#parts = parts;
    this.#settings = { ...SETTINGS, ...settingsOf(parts.sections) };
  }

  /** Reads the settings. @throws {SvcError} validation when the file has an error */
  async read(): Promise<SettingsView> {
    const { path, sections, started, config } = this.#parts;
    const text = await readTextIfAny(path) ?? "";
    const tables = [parseConfig(text, path, sections), config(), started, configOf(DEFAULTS)]
      .map((it) => tableOf(it, sections));
    const table = parse(text) as Table;
    const settings = Object.keys(this.#settings)
      .map((key) => [key, this.#state(key, table, tables)]);
    return { path, revision: await revisionOf(text), settings: Object.fromEntries(settings) };
  }

  #state(key: string, file: Table, tables: Table[]): SettingState {
    const [value, now, started, fallback] = tables.map((it) => valueAt(it, key));
    const { restart } = this.#settings[key];
    const in_use = restart ? started : now;
    return {
      value,
      source: valueAt(file, key) === undefined ? "default" : "file",
      default: fallback,
      ...(in_use === value ? {} : { in_use }),
      restart,
    };
  }

  /**
   * Writes changes, all or none, and reloads the file.
   *
   * @param revision of the text that the changes are for; default: any
   * @throws {SvcError} validation for an invalid value, with its key in details.issues; conflict
   * when the file has changed; permission_denied when it is not private
   */
  change(changes: SettingChanges, revision?: string): Promise<SettingsChanged> {
    const done = this.#last.then(() => this.#change(changes, revision));
    this.#last = done.catch(() => {});
    return done;
  }

  async #change(changes: SettingChanges, revision?: string): Promise<SettingsChanged> {
    const { path, sections, config, started, reload } = this.#parts;
    checkPrivate(path, 0o600, "file");
    const text = await readTextIfAny(path) ?? "";
    if (revision !== undefined && revision !== await revisionOf(text)) throw changedMeanwhile(path);
    parseConfig(text, path, sections);
    const edited = edit(text, changes);
    this.#check(edited);
    if (edited !== text) {
      if ((await readTextIfAny(path) ?? "") !== text) throw changedMeanwhile(path);
      await atomicWrite(path, edited, 0o600);
    }
    try {
      await reload();
    } catch (cause) {
      throw new SvcError("validation", `saved, but not applied: ${messageOf(cause)}`, { cause });
    }
    const [now, before] = [config(), started].map((it) => tableOf(it, sections));
    const restart = Object.keys(changes).filter((key) =>
      this.#settings[key].restart && valueAt(now, key) !== valueAt(before, key)
    );
    return { revision: await revisionOf(edited), restart };
  }

  /** @throws {SvcError} validation, with the key in the details' issues */
  #check(text: string): void {
    const { path, sections } = this.#parts;
    const { default_model } = parseConfig(text, path, sections);
    if (default_model === undefined) return;
    try {
      this.#parts.checkModel(default_model);
    } catch (error) {
      const message = messageOf(error);
      throw new InvalidParams(message, { issues: [{ path: ["default_model"], message }] });
    }
  }
}

/** A configuration as a table like the file's. */
function tableOf(config: Config, sections: readonly Section[]): Table {
  return { ...config, ...Object.fromEntries(sections.map((it) => [it.name, config.of(it)])) };
}

/** Applies changes to the text. @throws {SvcError} internal when anything else would change */
function edit(text: string, changes: SettingChanges): string {
  const wanted = parse(text) as Table;
  for (const [key, value] of Object.entries(changes)) setAt(wanted, key, value!);
  if (same(parse(text), wanted)) return text;
  const edited = `${patch(text, wanted).trimEnd()}\n`;
  if (same(parse(edited), wanted)) return edited;
  throw new SvcError("internal", "the file cannot be edited without changing other parts of it", {
    hint: "edit it by hand, then run daemon.reload_config",
  });
}

/** Compares tables; the parser creates empty ones of another kind. */
function same(one: Table, other: Table): boolean {
  return isDeepStrictEqual(structuredClone(one), structuredClone(other));
}

function setAt(table: Table, key: string, value: SettingValue | null): void {
  const path = key.split(".");
  const last = path.pop()!;
  for (const name of path) {
    if (table[name] === undefined && value === null) return;
    table = (table[name] ??= {}) as Table;
  }
  if (value === null) delete table[last];
  else table[last] = value;
}

function valueAt(table: object, key: string): SettingValue | undefined {
  let found: unknown = table;
  for (const name of key.split(".")) found = (found as Table | undefined)?.[name];
  return found as SettingValue | undefined;
}

async function revisionOf(text: string): Promise<string> {
  return (await sha256Hex(text)).slice(0, 16);
}

function changedMeanwhile(path: string): SvcError {
  return new SvcError("conflict", `${path} has changed since it was read`, {
    hint: "read it again with daemon.get_config, then repeat the change",
  });
}
