/** The settings of daemon.toml as a form has them. */
import type { Params, Result } from "../rpc/api.ts";
import { APPROVALS } from "../sessions/approval.ts";

export type Config = Result<"daemon.get_config">;
export type SettingKey = keyof Config["settings"];
export type SettingState = NonNullable<Config["settings"][SettingKey]>;
export type Changes = Params<"daemon.set_config">["changes"];
type Value = NonNullable<SettingState["value"]>;

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
        hint: "For sessions that are started without one.",
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
        label: "Budget of a session, in dollars",
        kind: "number",
        unset: "No limit",
      },
      { key: "agent.max_steps", label: "Model calls in a turn, at most", kind: "number" },
      {
        key: "agent.critic",
        label: "Output critic",
        hint: "Ends a turn whose answer shows that something it read has taken it over.",
        kind: "flag",
      },
      { key: "tasks.budget_usd", label: "Budget of a task, in dollars", kind: "number" },
    ],
  },
  {
    name: "memory",
    title: "Memory",
    fields: [
      {
        key: "cortex.curator",
        label: "Curator",
        hint: "A model reads turns when they are over, for what is worth remembering.",
        kind: "flag",
      },
      { key: "cortex.recall_tokens", label: "Tokens that a prompt gets of it", kind: "number" },
    ],
  },
  {
    name: "journals",
    title: "Journals and log",
    fields: [
      { key: "journal.retention_hours", label: "Kept in full for, in hours", kind: "number" },
      { key: "journal.retention_mb", label: "Kept in full up to, in MB", kind: "number" },
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
        label: "Commands run in",
        kind: "choice",
        choices: { auto: "Bubblewrap where there is one", bubblewrap: "Bubblewrap", none: "None" },
      },
      { key: "sandbox.network", label: "Network for commands", kind: "flag" },
      { key: "sandbox.units", label: "Tool units at once", kind: "number" },
      {
        key: "sandbox.max_processes",
        label: "Processes of a command",
        hint: "0 sets no limit, here and below.",
        kind: "number",
      },
      { key: "sandbox.max_memory_mb", label: "Memory of each process, in MB", kind: "number" },
      { key: "sandbox.max_open_files", label: "Open files of each process", kind: "number" },
      { key: "sandbox.max_file_mb", label: "Size of each written file, in MB", kind: "number" },
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
  if (kind === "number" && Number.isFinite(Number(text))) return Number(text);
  return text;
}
