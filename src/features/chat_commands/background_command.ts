/** `/background` of a chat: lists background commands, shows the output of one, or stops it. */
import type { CallVerb } from "../verb_types.ts";

/** Bytes of output to show. */
const TAIL = 4 * 1024;
const HINT = "/background ID shows its output; /background stop ID stops it";

interface Listed {
  command_id: string;
  command: string;
  running: boolean;
  end?: string;
  output_bytes: number;
}

/**
 * Runs `/background` and returns the text for the person.
 *
 * @param value nothing, an id, or `stop` and an id
 */
export async function runBackground(
  value: string,
  session_id: string,
  call: CallVerb,
): Promise<string> {
  const { commands } = await call("background.list", { session_id }) as { commands: Listed[] };
  const stop = /^stop\s+(\S+)$/.exec(value);
  if (stop !== null) {
    const { stopped } = await call("background.stop", { session_id, command_id: stop[1] });
    return stopped ? `${stop[1]} was stopped` : `${stop[1]} had ended before`;
  }
  if (value === "") {
    if (commands.length === 0) return "no background commands";
    const lines = commands.map((one) => `${one.command_id}  ${stateOf(one)}  ${one.command}`);
    return [...lines, HINT].join("\n");
  }
  const command = commands.find((one) => one.command_id === value);
  const from = Math.max((command?.output_bytes ?? 0) - TAIL, 0);
  const { text } = await call("background.output", { session_id, command_id: value, from });
  return text.trimEnd() === "" ? "it has written nothing" : text.trimEnd();
}

function stateOf({ running, end }: Listed): string {
  return running ? "running" : end ?? "ended";
}
