/** What the commands of a chat do. */

/** How each is typed, and what it does. */
const COMMANDS: readonly (readonly [usage: string, what: string])[] = [
  ["/help", "show this"],
  ["/cancel", "cancel the turn"],
  ["/compact", "shorten the conversation that the model is given"],
  ["/continue", "continue the last turn, if a restart or a crash cut it off"],
  ["/pause", "start no more turns"],
  ["/resume", "go on after /pause"],
  ["/model [NAME]", "show or change the model"],
  ["/effort [LEVEL]", "show or change how long the model may think"],
  ["/approval [MODE]", "show or change what needs your approval: auto, ask or read_only"],
  ["/rename TITLE", "change the title"],
  ["/pin, /unpin", "show this session first in lists, or no longer"],
  ["/archive", "leave it out of lists until it gets another message"],
  ["/background [ID | stop ID]", "what runs in the background: all, the output of one, stop it"],
  ["/changes", "show what was changed in the directory"],
  ["/undo [files|conversation|both] [force]", "undo the last changes of files"],
  ["/redo [force]", "undo the last /undo"],
  ["/fork [TITLE]", "start a session with a copy of this conversation"],
  ["/kill", "end the session permanently"],
];
/** The longest usage that has its words beside it. */
const BESIDE_MAX = 27;

/** Lists the commands, a line for each. @param more the last ones, which only some faces have */
export function commandHelp(more: readonly (readonly [string, string])[] = []): string {
  return [...COMMANDS, ...more].map(([usage, what]) =>
    `  ${usage.length > BESIDE_MAX ? usage : usage.padEnd(BESIDE_MAX)}  ${what}`
  ).join("\n");
}
