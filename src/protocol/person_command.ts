/** A command that a person runs from a message: `!ls`. Must import nothing: the web app uses it. */

/** Returns the command of a message; undefined for others, also for one that begins with a blank. */
export function personCommand(message: string): string | undefined {
  return message.startsWith("!") ? message.slice(1).trim() || undefined : undefined;
}
