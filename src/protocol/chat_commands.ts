/** The commands of `svc chat` itself; Markdown files cannot replace them. */
export const CHAT_COMMANDS = [
  "approval",
  "archive",
  "background",
  "cancel",
  "changes",
  "compact",
  "continue",
  "effort",
  "exit",
  "fork",
  "help",
  "kill",
  "model",
  "pause",
  "pin",
  "quit",
  "redo",
  "rename",
  "resume",
  "undo",
  "unpin",
  "withdraw",
] as const;

/** A name in {@linkcode CHAT_COMMANDS}. */
export type ChatCommand = typeof CHAT_COMMANDS[number];
