/** Background commands in words. */
import type { EventData } from "./event_data.ts";

/** Characters of a command line in events, lists and notes. */
export const COMMAND_SHOWN = 200;

type Ended = EventData["background.ended"];

/** How a command ended. */
export function endText(
  { reason, exit_code, signal }: Pick<Ended, "reason" | "exit_code" | "signal">,
): string {
  switch (reason) {
    case "exited":
      return signal === undefined ? `exit code ${exit_code}` : `ended by ${signal}`;
    case "failed":
      return "could not be started";
    case "timeout":
      return "stopped at its time limit";
    case "stopped":
      return "stopped";
    case "session_ended":
      return "stopped, because the session ended";
    case "daemon_stopped":
      return "stopped, because svc stopped";
  }
}

export function backgroundEndedText(ended: Ended): string {
  return `background command ${ended.command_id} (${ended.command}): ${endText(ended)}`;
}

export function backgroundStartedText(
  { command_id, command }: Pick<EventData["background.started"], "command_id" | "command">,
): string {
  return `background command ${command_id} (${command}): started`;
}

/** The notice for the model; undefined when the model stopped the command itself. */
export function endNotice(ended: Ended): string | undefined {
  if (ended.by === "model") return undefined;
  const { command_id, command, reason } = ended;
  const output = reason === "daemon_stopped"
    ? "Its output is gone. Start it again if you still need it."
    : `command_output returns the rest of its output.`;
  return `The background command ${command_id} (${command}) has ended: ${
    endText(ended)
  }. ${output}`;
}
