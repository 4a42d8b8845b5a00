/** The help: the keys, then the commands. */
import { commandHelp } from "../chat_commands/command_help.ts";
import type { Model } from "./model.ts";
import { type Line, line, wrap } from "./text.ts";

const KEYS: readonly string[] = [
  "Enter  send           Alt-Enter, Ctrl-J  new line      Up, Down  history",
  "While a turn runs      Enter  the turn reads it      Alt-Enter  it waits for its own turn",
  "Esc    cancel the turn, go back          Ctrl-C  cancel; again: leave",
  "Ctrl-D leave (session continues)        Ctrl-Z  suspend    Ctrl-L redraw",
  "Ctrl-A E  line start, end   Ctrl-U K W  delete to start, to end, a word",
  "Ctrl-Y  what was deleted, Alt-Y the text before it     Ctrl-_ undo   Alt-_ redo",
  "Ctrl-V  attach the image of the clipboard; a dropped or pasted path attaches its file",
  "@  files      /  commands and skills      Up, Down, Tab, Enter  take one      Esc  close",
  "Ctrl-P  what you can do: sessions, models, modes, changes, export …",
  "Esc Esc  (empty message) go back to an earlier message, with its files or without",
  "Ctrl-R  look for what you said before, in all sessions",
  "Ctrl-G  the message in your editor ($VISUAL, $EDITOR), with all that was pasted",
  "PageUp PageDown  scroll     Home End  (empty message) first and last line",
  "Ctrl-T  fold the plan and what runs, or unfold them",
  "Ctrl-O  all output of calls, or a part   ?  (empty message) this help",
  "Tab    go to the question, the lanes, the transcript, the message",
  "Shift-Tab  what needs your approval: ask, workspace, read_only",
  "1-9    (empty message) show that lane; Esc goes back",
  "A question     1 or y allow   2 or a always   3 or n deny; then Enter, or after 3",
  "               what to do instead; v all of it; 1s 2d: that rule, and where it holds",
  "A lane         Enter show    k kill    p pin or unpin      A background command  Enter  k",
  "The transcript Up Down scroll by line",
  "The mouse      the wheel scrolls, a click picks, a drag copies; with Shift the terminal's own",
];

/** Returns the help as text: the keys, the commands from files and those of svc. */
export function helpText({ commands }: Pick<Model, "commands">): string[] {
  const own = commandHelp(true).split("\n").map((it) => it.trimStart());
  return [...KEYS, "", ...commands, ...commands.length > 0 ? [""] : [], ...own];
}

/** Returns the help as rows of the screen. */
export function helpRows(model: Pick<Model, "commands">, cols: number): Line[] {
  return helpText(model).flatMap((text) => wrap(text, cols)).map((text) => line(text));
}
