/** The commands of `svc chat` itself; Markdown files cannot replace them. */
export const CHAT_COMMANDS = [
  "add-dir",
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
  "network",
  "pause",
  "permissions",
  "pin",
  "quit",
  "redo",
  "remove-dir",
  "rename",
  "resume",
  "trust",
  "undo",
  "unpin",
  "withdraw",
] as const;

/** A name in {@linkcode CHAT_COMMANDS}. */
export type ChatCommand = typeof CHAT_COMMANDS[number];
