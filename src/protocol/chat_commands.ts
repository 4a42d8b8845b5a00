/** The commands of `svc chat` itself; Markdown files cannot replace them. */
export const CHAT_COMMANDS = [
  "approval",
  "cancel",
  "compact",
  "exit",
  "help",
  "kill",
  "model",
  "pause",
  "quit",
  "rename",
  "resume",
] as const;

/** The name of a command of `svc chat` itself, without its slash. */
export type ChatCommand = typeof CHAT_COMMANDS[number];
