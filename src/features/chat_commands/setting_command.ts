/** The lines of a chat that show or change a setting of its session, or show what belongs to it. */
import { APPROVALS } from "../../protocol/approval.ts";
import { EFFORTS } from "../../protocol/effort.ts";
import { NETWORKS } from "../../protocol/network.ts";
import { addedDirectoriesText, parseAddDirectory } from "../../protocol/added_directory.ts";
import type { CallVerb } from "../verb_types.ts";
import type { Shown } from "./show_command.ts";

/** A command such as `/model`; without a value it shows the setting. */
export interface SettingCommand {
  setting:
    | "model"
    | "approval"
    | "effort"
    | "network"
    | "trust"
    | "permissions"
    | "title"
    | "background"
    | "pinned"
    | "archived"
    | "add_dirs"
    | "remove_dirs"
    | Shown;
  value: string;
}

const SETTINGS = {
  model: "model",
  approval: "approval",
  effort: "effort",
  network: "network",
  trust: "trust",
  permissions: "permissions",
  rename: "title",
  background: "background",
  "add-dir": "add_dirs",
  "remove-dir": "remove_dirs",
  agents: "agents",
  cost: "cost",
  tools: "tools",
} as const;
/** Settings that have a few values, and these. */
export const CHOICES = {
  approval: APPROVALS,
  effort: [...EFFORTS, "default"],
  network: [...NETWORKS, "default"],
} as const;

/** Whether a setting has a few values. */
export function isChoice(setting: SettingCommand["setting"]): setting is keyof typeof CHOICES {
  return Object.hasOwn(CHOICES, setting);
}

/** A router may have hundreds. */
const MODELS_SHOWN = 40;

/** Commands without a value, and what they set. */
const MARKS: Readonly<Record<string, SettingCommand>> = {
  "/pin": { setting: "pinned", value: "yes" },
  "/unpin": { setting: "pinned", value: "no" },
  "/archive": { setting: "archived", value: "yes" },
};

/** Parses a line; undefined for other lines. */
export function settingCommand(line: string): SettingCommand | undefined {
  const mark = Object.hasOwn(MARKS, line.trim()) ? MARKS[line.trim()] : undefined;
  if (mark !== undefined) return mark;
  const [, name = "", value = ""] = /^\/([a-z-]+)(?:\s+(\S[^]*))?$/.exec(line.trim()) ?? [];
  if (!Object.hasOwn(SETTINGS, name)) return undefined;
  const setting = SETTINGS[name as keyof typeof SETTINGS];
  return isShown(setting) && value !== "" ? undefined : { setting, value };
}

function isShown(setting: SettingCommand["setting"]): setting is Shown {
  return setting === "agents" || setting === "cost" || setting === "tools";
}

/**
 * Runs the command; returns a text for the person, or undefined when the change's event tells it.
 *
 * @throws {SvcError} as `session.configure` or `background.stop`
 */
export async function runSetting(
  { setting, value }: SettingCommand,
  session_id: string,
  call: CallVerb,
): Promise<string | undefined> {
  if (setting === "background") {
    const { runBackground } = await import("./rare_commands.ts");
    return await runBackground(value, session_id, call);
  }
  if (setting === "trust" || setting === "permissions") {
    const { runPermissions, runTrust } = await import("./rare_commands.ts");
    return await (setting === "trust" ? runTrust : runPermissions)(value, session_id, call);
  }
  if (isShown(setting)) {
    const { runShow } = await import("./rare_commands.ts");
    return await runShow(setting, session_id, call);
  }
  if (setting === "add_dirs" || setting === "remove_dirs") {
    return await runDirectories(setting, value, session_id, call);
  }
  if (value !== "") {
    const is_mark = setting === "pinned" || setting === "archived";
    const wanted = is_mark ? value === "yes" : value;
    const done = await call("session.configure", { session_id, [setting]: wanted });
    if (done.changed) return undefined;
    return is_mark
      ? `it is ${wanted ? "" : "not "}${setting} already`
      : `${setting} is ${done[setting]} already`;
  }
  const session = await call("session.get", { session_id });
  if (setting === "title") return `title: ${session.title}\n/rename TITLE changes it`;
  if (isChoice(setting)) return choiceText(setting, session[setting]);
  return await modelsText(session.model, call);
}

/** Says what a setting is, and what else may be chosen. */
export function choiceText(setting: keyof typeof CHOICES, now: string): string {
  return `${setting}: ${now}\n/${setting} changes it: ${CHOICES[setting].join(", ")}`;
}

/** Says which model is used, and which can be used. */
export async function modelsText(model: string, call: CallVerb): Promise<string> {
  const { models } = await call("models.list", {});
  const ids = models.map(({ id }) => `  ${id}`);
  const more = ids.length - MODELS_SHOWN;
  return [
    `model: ${model}; /model NAME changes it`,
    ...ids.slice(0, MODELS_SHOWN),
    ...(more > 0 ? [`  and ${more} more; \`svc models\` lists them`] : []),
  ].join("\n");
}

/** Adds or removes a directory; without one, shows those that were added. */
async function runDirectories(
  setting: "add_dirs" | "remove_dirs",
  value: string,
  session_id: string,
  call: CallVerb,
): Promise<string | undefined> {
  if (value === "") {
    const { added_dirs } = await call("session.get", { session_id });
    return `added directories: ${addedDirectoriesText(added_dirs)}\n` +
      "/add-dir DIR adds one, /add-dir DIR:ro for reading only; /remove-dir DIR removes it";
  }
  const change = setting === "add_dirs"
    ? { add_dirs: [parseAddDirectory(value)] }
    : { remove_dirs: [value] };
  const done = await call("session.configure", { session_id, ...change });
  return done.changed ? undefined : `added directories: ${addedDirectoriesText(done.added_dirs)}`;
}
