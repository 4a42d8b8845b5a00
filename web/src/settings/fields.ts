/** The settings of daemon.toml as a form has them. */
import type { Params, Result } from "../rpc/api.ts";
import { APPROVALS } from "../sessions/approval.ts";
import { hasWords } from "../ui/search_box.tsx";

export type Config = Result<"daemon.get_config">;
export type SettingKey = keyof Config["settings"];
export type SettingState = NonNullable<Config["settings"][SettingKey]>;
export type Changes = Params<"daemon.set_config">["changes"];
type Value = NonNullable<SettingState["value"]>;

const CONTINUE = {
  always: "Continue them",
  ask: "Ask before continuing them",
  never: "Leave them interrupted",
};

export interface SettingField {
  key: SettingKey;
  label: string;
  hint?: string;
  kind: "text" | "model" | "directory" | "number" | "choice" | "flag";
  /** Of a choice: values and what they are called. */
  choices?: Readonly<Record<string, string>>;
  /** What is said where there is no default. */
  unset?: string;
}

export interface FieldGroup {
  /** Of its heading's id. */
  name: string;
  title: string;
  fields: readonly SettingField[];
}

export const GROUPS: readonly FieldGroup[] = [
  {
    name: "sessions",
    title: "Sessions",
    fields: [
      { key: "default_model", label: "Default model", kind: "model" },
      {
        key: "default_workdir",
        label: "Default directory",
        hint: "For sessions started without a directory.",
        kind: "directory",
        unset: "None",
      },
      {
        key: "agent.approval",
        label: "Approvals",
        kind: "choice",
        choices: APPROVALS,
      },
      {
        key: "agent.budget_usd",
        label: "Session budget in dollars",
        kind: "number",
        unset: "No limit",
      },
      { key: "agent.max_steps", label: "Maximum model calls per turn", kind: "number" },
      {
        key: "agent.continue",
        label: "Turns cut off by a restart",
        hint: "By default they go on after a restart, and you are asked after a crash.",
        kind: "choice",
        choices: CONTINUE,
        unset: "Default",
      },
      {
        key: "agent.critic",
        label: "Output critic",
        hint: "Stops a turn when its answer shows signs of prompt injection.",
        kind: "flag",
      },
      {
        key: "agent.titles",
        label: "Titles",
        hint: "A model names sessions that have no title.",
        kind: "flag",
      },
      { key: "tasks.budget_usd", label: "Task budget in dollars", kind: "number" },
    ],
  },
  {
    name: "memory",
    title: "Memory",
    fields: [
      {
        key: "cortex.curator",
        label: "Curator",
        hint: "A model reads finished turns and saves what is worth remembering.",
        kind: "flag",
      },
      { key: "cortex.recall_tokens", label: "Maximum memory tokens per prompt", kind: "number" },
    ],
  },
  {
    name: "journals",
    title: "Journals and log",
    fields: [
      { key: "journal.retention_hours", label: "Keep in full for (hours)", kind: "number" },
      { key: "journal.retention_mb", label: "Keep in full up to (MB)", kind: "number" },
      {
        key: "log.level",
        label: "Log",
        kind: "choice",
        choices: { debug: "Everything", info: "What happens", warn: "Warnings", error: "Errors" },
      },
    ],
  },
  {
    name: "sandbox",
    title: "Sandbox",
    fields: [
      {
        key: "sandbox.shell",
        label: "Run commands in",
        kind: "choice",
        choices: { auto: "Bubblewrap if available", bubblewrap: "Bubblewrap", none: "None" },
      },
      {
        key: "sandbox.network",
        label: "Network for commands",
        hint: "Allowed hosts are listed in daemon.toml, under [sandbox] allowed_hosts.",
        kind: "choice",
        choices: { false: "None", allowed: "Allowed hosts", true: "All" },
      },
      {
        key: "sandbox.registries",
        label: "Package registries for a directory's manifests",
        hint: "Adds them to the allowed hosts.",
        kind: "flag",
      },
      {
        key: "sandbox.login_path",
        label: "Programs on the PATH of your login shell",
        hint: "For a daemon that a service manager or a desktop started.",
        kind: "flag",
      },
      { key: "sandbox.units", label: "Concurrent tool units", kind: "number" },
      {
        key: "sandbox.max_processes",
        label: "Processes of a session's commands",
        hint: "0 means no limit, here and below.",
        kind: "number",
      },
      {
        key: "sandbox.max_memory_mb",
        label: "Memory of a session's commands (MB)",
        hint: "Default: half of the machine's.",
        kind: "number",
      },
      { key: "sandbox.max_open_files", label: "Open files per process", kind: "number" },
      { key: "sandbox.max_file_mb", label: "Size per written file (MB)", kind: "number" },
      { key: "sandbox.max_tmp_mb", label: "Size of a session's /tmp (MB)", kind: "number" },
      { key: "sandbox.max_cache_mb", label: "Size of a directory's caches (MB)", kind: "number" },
    ],
  },
];

const FLAG = { true: "On", false: "Off" };

/** What may be chosen for a setting; undefined for one that is typed. */
export function choicesOf(field: SettingField): Readonly<Record<string, string>> | undefined {
  return field.kind === "flag" ? FLAG : field.choices;
}

/** A value as a person reads it. */
export function wordOf(field: SettingField, value: Value | undefined): string {
  if (value === undefined) return field.unset ?? "";
  return choicesOf(field)?.[String(value)] ?? String(value);
}

/** What a form's inputs begin with: what the file says, nothing where it says nothing. */
export function inputsOf({ settings }: Config): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, { source, value }]) => [
      key,
      source === "file" ? String(value) : "",
    ]),
  );
}

/**
 * What inputs change of a file, as `daemon.set_config` takes it; an empty input takes its key out.
 *
 * @param before what the inputs began with.
 */
export function changesOf(
  before: Readonly<Record<string, string>>,
  inputs: Readonly<Record<string, string>>,
): Changes {
  const changes: Changes = {};
  for (const field of GROUPS.flatMap(({ fields }) => fields)) {
    const text = (inputs[field.key] ?? "").trim();
    if (text === (before[field.key] ?? "")) continue;
    changes[field.key] = text === "" ? null : valueOf(field, text);
  }
  return changes;
}

/** A text that is no number goes as it is: the daemon says what is wrong with it. */
function valueOf({ kind }: SettingField, text: string): Value {
  if (kind === "flag") return text === "true";
  if (kind === "choice" && (text === "true" || text === "false")) return text === "true";
  if (kind === "number" && Number.isFinite(Number(text))) return Number(text);
  return text;
}

/**
 * The settings that a search finds, by the words of their groups, labels, hints and choices and by
 * their names in the file.
 */
export function fieldsFor(query: string): Set<SettingKey> {
  return new Set(
    GROUPS.flatMap(({ title, fields }) =>
      fields.filter(({ key, label, hint = "", choices = {} }) =>
        hasWords(query, [title, key, label, hint, ...Object.values(choices)])
      ).map(({ key }) => key)
    ),
  );
}
