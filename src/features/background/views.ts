/** Background commands, as the verbs show them. */
import { readFrom, type SessionCommand } from "../../agent/background.ts";
import { endText } from "../../protocol/background_text.ts";
import type { BackgroundServices } from "./verbs.ts";

interface Of {
  session_id: string;
}

interface Which extends Of {
  command_id: string;
}

/** @throws {SvcError} as `Hub.get`. */
export async function list(services: BackgroundServices, { session_id }: Of) {
  const background = await opened(services, session_id);
  const commands = background.of(session_id).map((command) => {
    const { command_id, command: line, started_at, process: { output } } = command;
    const about = { command_id, command: line, started_at, output_bytes: output.total };
    return { ...about, ...stateOf(command) };
  });
  return { commands };
}

/** @throws {SvcError} as `Hub.get`; not_found for an unknown command. */
export async function read(
  services: BackgroundServices,
  { session_id, command_id, from, bytes }: Which & { from: number; bytes: number },
) {
  const command = (await opened(services, session_id)).get(session_id, command_id);
  return { ...readFrom(command, from, bytes), ...stateOf(command) };
}

/** @throws {SvcError} as {@linkcode read}. */
export async function stop(
  services: BackgroundServices,
  { session_id, command_id }: Which,
  by: string,
) {
  const background = await opened(services, session_id);
  return { stopped: await background.stop(session_id, command_id, by) };
}

async function opened({ background, hub }: BackgroundServices, session_id: string) {
  await hub.get(session_id);
  return await background.get();
}

function stateOf({ ended, process }: SessionCommand) {
  if (ended === undefined) return { running: true };
  const problem = process.end?.problem;
  const end = endText(ended) + (problem === undefined ? "" : `: ${problem}`);
  return { running: false, exit_code: ended.exit_code, end };
}
