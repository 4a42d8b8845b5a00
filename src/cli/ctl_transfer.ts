/** `svc ctl sessions export` and `import`. */
import { writeAll } from "../base/write_all.ts";
import { print, withDaemon } from "./daemon_call.ts";
import type { Input } from "./spec.ts";
import type * as spec from "./table/ctl.ts";
import { writeWhole } from "./whole_file.ts";
import { absolute } from "./workdir.ts";

const EXTENSIONS = { markdown: "md", html: "html", json: "json" } as const;

/** Runs `svc ctl sessions export`. A file appears only once it is whole. */
export async function exportSession(
  { flags: { format, output, force, json }, args: { session_id } }: Input<
    typeof spec.SESSIONS_EXPORT
  >,
): Promise<number> {
  if (output === "-") {
    await writeParts(session_id, format, Deno.stdout);
    return 0;
  }
  const path = absolute(output ?? `${session_id}.${EXTENSIONS[format]}`);
  const hint = "choose another file with --output, or pass --force to replace it";
  const write = (file: Deno.FsFile) => writeParts(session_id, format, file);
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

async function writeParts(
  session_id: string,
  format: keyof typeof EXTENSIONS,
  to: { write(bytes: Uint8Array): Promise<number> },
): Promise<void> {
  await withDaemon(async (rpc) => {
    let cursor: string | undefined;
    do {
      const part = await rpc.call("session.export", { session_id, format, cursor });
      await writeAll(to, new TextEncoder().encode(part.content));
      cursor = part.next_cursor;
    } while (cursor !== undefined);
  });
}
