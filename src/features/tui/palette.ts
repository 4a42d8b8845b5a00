/** What the palette offers: what people do, then their own commands. */
import type { Result } from "../verb_types.ts";
import { APPROVALS } from "../../protocol/approval.ts";
import { EFFORTS } from "../../protocol/effort.ts";
import { type ThemeName, THEMES } from "../../protocol/themes.ts";
import type { Effect, PickerKind } from "./effect.ts";
import type { Model } from "./model.ts";
import type { Asked, Choice, Chosen } from "./picker.ts";
import { cleanLine } from "./text.ts";

/** The line that asks for a title. */
export const RENAME: Asked = {
  title: "New title of this session",
  effect: "rename",
  secret: false,
};

/** The entries of the palette, with the commands that do the same. */
export function paletteChoices(
  { session, entries }: Model,
  own: Result<"commands.list">["commands"],
): Choice[] {
  const has_turn = session.turn;
  const can_stop = has_turn ? [does("Stop the turn", "Esc, /cancel", { type: "cancel" })] : [];
  const can_undo = entries.some(({ message }) => message !== undefined);
  return [
    ...can_stop,
    does("New session in this directory", "svc chat", { type: "new_session" }),
    opens("Go to another session …", "/sessions", "sessions"),
    opens("Switch the model …", "/model", "models"),
    opens("Change what needs your approval …", "/approval, Shift-Tab", "approval"),
    opens("Change the effort …", "/effort", "effort"),
    ...can_undo ? [opens("Go back to an earlier message …", "/rewind, Esc Esc", "rewind")] : [],
    opens("Show changed files …", "/changes", "changes"),
    does("Undo the last changes of files", "/undo", undo("undo")),
    does("Redo what was undone", "/redo", undo("redo")),
    does("Fork: go on in a copy of this session", "/fork", undo("fork")),
    does("Shorten the conversation", "/compact", { type: "compact" }),
    does("Continue a turn that was cut off", "/continue", { type: "continue" }),
    does("Take back messages that wait", "/withdraw", { type: "withdraw" }),
    { label: "Rename this session …", detail: "/rename", does: { ask: RENAME } },
    does("Pin this session", "/pin", setting("pinned", "yes")),
    does("Archive this session", "/archive", setting("archived", "yes")),
    opens("Change the colours …", "/theme", "theme"),
    opens("Export the conversation …", "/export", "export"),
    opens("Log in to a provider …", "svc login", "providers"),
    { label: "Add a directory …", detail: "/add-dir", does: { insert: "/add-dir " } },
    does("Show what it has cost", "/cost", setting("cost")),
    does("Show the agents", "/agents", setting("agents")),
    does("Show the tools of tool servers", "/tools", setting("tools")),
    does("Show the permission rules", "/permissions", setting("permissions")),
    does("Show what runs in the background", "/background", setting("background")),
    ...session.state === "paused"
      ? [does("Go on after the pause", "/resume", { type: "resume" })]
      : [does("Pause this session", "/pause", { type: "pause" })],
    does("Keys and commands", "?, /help", { type: "load_commands" }),
    does("Leave; the session continues", "Ctrl-D, /quit", { type: "quit" }),
    ...own.map(({ name, description }) => ({
      label: cleanLine(`/${name}`),
      detail: cleanLine(description),
      does: { insert: `/${name} ` },
    })),
  ];
}

const MODES: Record<typeof APPROVALS[number], string> = {
  auto: "nothing is asked; the sandbox and your rules still hold",
  workspace: "changes of files here are not asked about; commands and the network are",
  ask: "each change and each command is asked about",
  read_only: "nothing is changed, and no command runs",
};

/** The approval modes. */
export function approvalChoices({ session }: Model): Choice[] {
  return APPROVALS.map((value) => ({
    label: value,
    detail: `${value === session.approval ? "now · " : ""}${MODES[value]}`,
    current: value === session.approval,
    does: { effects: [setting("approval", value)] },
  }));
}

/** How long the model may think. */
export function effortChoices(): Choice[] {
  const levels = ["default", ...EFFORTS];
  return levels.map((value) => ({
    label: value,
    ...value === "default" && { detail: "what the provider decides" },
    does: { effects: [setting("effort", value)] },
  }));
}

const FORMATS = { markdown: "to read", html: "one page to send", json: "all of it, to import" };

const LOOKS: Record<ThemeName, string> = {
  auto: "dark or light, as the terminal's background",
  dark: "for a dark background",
  light: "for a light background",
  terminal: "the 16 colours that the terminal defines",
  "high-contrast": "fewer and stronger colours",
  none: "no colours",
};

/** The colours of the terminal. */
export function themeChoices(now: ThemeName): Choice[] {
  return THEMES.map((name) => ({
    label: name,
    detail: `${name === now ? "now · " : ""}${LOOKS[name]}`,
    current: name === now,
    does: { effects: [{ type: "theme", name }] },
  }));
}

/** The forms in which the conversation is written into a file. */
export function exportChoices(): Choice[] {
  return Object.entries(FORMATS).map(([format, detail]) => ({
    label: format,
    detail,
    does: {
      effects: [{ type: "export", command: { format: format as keyof typeof FORMATS } }],
    },
  }));
}

function does(label: string, detail: string, effect: Effect): Choice {
  return { label, detail, does: { effects: [effect] } };
}

function opens(label: string, detail: string, picker: PickerKind): Choice {
  const does: Chosen = { picker };
  return { label, detail, does };
}

function setting(
  setting: Extract<Effect, { type: "setting" }>["command"]["setting"],
  value = "",
): Effect {
  return { type: "setting", command: { setting, value } };
}

function undo(name: "undo" | "redo" | "fork"): Effect {
  return { type: "undo", command: { name, rest: "" } };
}
