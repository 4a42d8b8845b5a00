/** Usage and meaning of each chat command. */
const COMMANDS: readonly (readonly [usage: string, what: string])[] = [
  ["/help", "show this"],
  ["/cancel", "cancel the turn"],
  ["!COMMAND", "run a command yourself: in the sandbox, without a question and a model"],
  ["/queue TEXT", "send a message that waits for a turn of its own, after the running one"],
  ["/withdraw", "take back the messages that the model has not read"],
  ["/compact", "shorten the conversation that the model is given"],
  ["/continue", "continue the last turn, if a restart or a crash cut it off"],
  ["/pause", "start no more turns"],
  ["/resume", "go on after /pause"],
  ["/model [NAME]", "show or change the model"],
  ["/effort [LEVEL]", "show or change how long the model may think"],
  [
    "/approval [MODE]",
    "show or change what needs your approval: auto, workspace, ask or read_only",
  ],
  ["/network [REACH]", "show or change what commands reach: off, allowed or on"],
  ["/add-dir [DIR[:ro]]", "show the added directories, or add one for tools and commands"],
  ["/remove-dir DIR", "remove an added directory"],
  ["/permissions [test CMD]", "the rules of this session; also: allow, deny, remove"],
  ["/trust [no]", "let this directory's own rules allow calls and its hooks run, or no longer"],
  ["/rename TITLE", "change the title"],
  ["/pin, /unpin", "show this session first in lists, or no longer"],
  ["/archive", "leave it out of lists until it gets another message"],
  ["/background [ID | stop ID]", "what runs in the background: all, the output of one, stop it"],
  ["/agents", "the agents of this session, with their status"],
  ["/tools", "the tools of tool servers that this session has"],
  ["/cost", "what this session has cost so far"],
  ["/changes", "show what was changed in the directory"],
  ["/export [markdown|html|json] [FILE]", "write this conversation into a file"],
  [
    "/undo [files|conversation|both] [preview] [keep|force [FILE]]",
    "undo the last changes of files",
  ],
  ["/undo [preview] FILE [force]", "undo the last change of one file"],
  ["/rewind …", "the same as /undo"],
  ["/redo [preview] [keep|force [FILE]]", "undo the last /undo"],
  ["/fork [TITLE]", "start a session with a copy of this conversation"],
  ["/kill", "end the session permanently"],
];
/** Commands of terminals alone. */
const OF_TERMINALS: typeof COMMANDS = [
  ["/sessions", "the other sessions, to go to one"],
  ["/theme [NAME]", "show or change the colours of terminals"],
  ["/vi [on|off]", "write with the keys of vi, or no longer"],
  ["/quit", "leave; the session continues in the daemon"],
];
/** Width of the usage column. */
const BESIDE_MAX = 27;

function commandsFor(terminal: boolean): typeof COMMANDS {
  return terminal ? [...COMMANDS, ...OF_TERMINALS] : COMMANDS;
}

/** Lists the commands, one per line. @param terminal whether a terminal shows them */
export function commandHelp(terminal = false): string {
  return commandsFor(terminal).map(([usage, what]) =>
    `  ${usage.length > BESIDE_MAX ? usage : usage.padEnd(BESIDE_MAX)}  ${what}`
  ).join("\n");
}

/** A command of a menu. */
export interface ChatCommand {
  /** With its slash. */
  name: string;
  /** What may follow it. */
  args?: string;
  what: string;
}

/** Returns the commands of a chat, each by its own name. @param terminal with those of terminals */
export function chatCommands(terminal = false): ChatCommand[] {
  const names = new Set<string>();
  return commandsFor(terminal).flatMap(([usage, what]) =>
    usage.split(", ").flatMap((each) => {
      const [name, ...args] = each.split(" ");
      if (names.has(name)) return [];
      names.add(name);
      return [{ name, ...(args.length > 0 && { args: args.join(" ") }), what }];
    })
  );
}
