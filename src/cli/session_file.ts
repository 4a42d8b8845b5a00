/** Writes an exported session into a file. */
import { writeAll } from "../base/write_all.ts";
import type { RpcClient } from "../client/rpc.ts";
import {
  type ExportCommand,
  exportedName,
  type ExportFormat,
} from "../features/chat_commands/export_command.ts";
import type { Args, CallVerb } from "../features/verb_types.ts";
import { writeWhole } from "./whole_file.ts";
import { absolute } from "./workdir.ts";

/** Returns a connection's way to call verbs. */
export function callOf(rpc: RpcClient): CallVerb {
  return (method, params) => rpc.call(method, ...[params] as Args<typeof method>);
}

/**
 * Runs `/export`. A file that exists stays.
 *
 * @returns what to tell the person
 * @throws {SvcError} conflict if the file exists
 */
export async function runExport(
  command: ExportCommand,
  session_id: string,
  call: CallVerb,
): Promise<string> {
  const path = absolute(exportedName(command, session_id));
  const { format } = command;
  const hint = "name another file: /export markdown FILE";
  await writeWhole(
    path,
    { replace: false, hint },
    (file) => writeParts(call, { session_id, format }, file),
  );
  return `the conversation is in ${path}`;
}

/** Writes the exported session, part by part. */
export async function writeParts(
  call: CallVerb,
  exported: { session_id: string; format: ExportFormat },
  to: { write(bytes: Uint8Array): Promise<number> },
): Promise<void> {
  let cursor: string | undefined;
  do {
    const part = await call("session.export", { ...exported, cursor });
    await writeAll(to, new TextEncoder().encode(part.content));
    cursor = part.next_cursor;
  } while (cursor !== undefined);
}
