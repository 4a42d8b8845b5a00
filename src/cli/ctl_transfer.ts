/** `svc ctl sessions export` and `import`. */
import { writeAll } from "../base/write_all.ts";
import { exists } from "../os/files.ts";
import { SvcError } from "../protocol/errors.ts";
import { print, withDaemon } from "./daemon_call.ts";
import type { Input } from "./spec.ts";
import type * as spec from "./table/ctl.ts";
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
  if (!force && exists(path)) throw alreadyThere(path);
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    using file = await Deno.open(temporary, { createNew: true, write: true, mode: 0o600 });
    await writeParts(session_id, format, file);
    await file.sync();
    if (force) await Deno.rename(temporary, path);
    else await Deno.link(temporary, path);
  } catch (error) {
    throw error instanceof Deno.errors.AlreadyExists ? alreadyThere(path) : error;
  } finally {
    await Deno.remove(temporary).catch(() => {});
  }
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

function alreadyThere(path: string): SvcError {
  return new SvcError("conflict", `${path} already exists`, {
    hint: "choose another file with --output, or pass --force to replace it",
  });
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
