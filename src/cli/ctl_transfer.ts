/** `svc ctl sessions export` and `import`. */
import { exportedName } from "../features/chat_commands/export_command.ts";
import { callOf, writeParts } from "./session_file.ts";
import { print, withDaemon } from "./daemon_call.ts";
import type { Input } from "./spec.ts";
import type * as spec from "./table/ctl.ts";
import { writeWhole } from "./whole_file.ts";
import { absolute } from "./workdir.ts";

/** Runs `svc ctl sessions export`. A file appears only once it is whole. */
export async function exportSession(
  { flags: { format, output, force, json }, args: { session_id } }: Input<
    typeof spec.SESSIONS_EXPORT
  >,
): Promise<number> {
  if (output === "-") {
    await withDaemon((rpc) => writeParts(callOf(rpc), { session_id, format }, Deno.stdout));
    return 0;
  }
  const path = absolute(exportedName({ format, file: output }, session_id));
  const hint = "choose another file with --output, or pass --force to replace it";
  const write = (file: Deno.FsFile) =>
    withDaemon((rpc) => writeParts(callOf(rpc), { session_id, format }, file));
  await writeWhole(path, { replace: force, hint }, write);
  if (json) return print({ session_id, format, path });
  console.log(path);
  return 0;
}

/** Runs `svc ctl sessions import`. */
export async function importSession(
  { flags: { workdir, model, title, json }, args: { file } }: Input<typeof spec.SESSIONS_IMPORT>,
): Promise<number> {
  const params = { path: absolute(file), workdir: absolute(workdir), model, title };
  const made = await withDaemon((rpc) => rpc.call("session.import", params));
  if (json) return print(made);
  console.log(made.session_id);
  return 0;
}
