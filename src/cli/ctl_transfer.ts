/** `svc ctl sessions export` and `import`. */
import { join } from "@std/path";
import { exactLine } from "../base/visible.ts";
import { writeAll } from "../base/write_all.ts";
import { connectOrStart } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { exportedName } from "../features/chat_commands/export_command.ts";
import { SESSION_FILE_MAX } from "../features/transfer/file_max.ts";
import type { Params, Result } from "../features/verb_types.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { callOf, writeParts } from "./session_file.ts";
import { print, useOnce, withDaemon } from "./daemon_call.ts";
import { UsageError } from "./define.ts";
import { ownPaths } from "./environment.ts";
import { named } from "./own_name.ts";
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
  { flags, args: { file } }: Input<typeof spec.SESSIONS_IMPORT>,
): Promise<number> {
  const { model, title } = flags;
  const trusted_keys = flags.trust === undefined ? undefined : await keysIn(flags.trust);
  const params = { workdir: absolute(flags.workdir), model, title, trusted_keys };
  const daemon = connectOrStart(ownPaths(), () => {});
  const made = await useOnce(daemon, async (rpc) => {
    if (file !== "-") return await confirmed(rpc, { ...params, path: absolute(file) }, flags.yes);
    // The daemon reads a file. It removes one that a killed client leaves.
    const path = join(ownPaths().home, `import.${crypto.randomUUID()}.tmp`);
    try {
      await saveInput(path);
      return await confirmed(rpc, { ...params, path }, flags.yes);
    } catch (error) {
      throw error instanceof SvcError ? aboutInput(error, path) : error;
    } finally {
      await Deno.remove(path).catch(() => {});
    }
  });
  if (flags.json) return print(made);
  console.error(signedText(made));
  console.log(made.session_id);
  return 0;
}

type Imported = Result<"session.import">;

/** Imports a file, after the person has confirmed its signer if nobody knows it. */
async function confirmed(
  rpc: RpcClient,
  params: Params<"session.import">,
  yes: boolean,
): Promise<Imported> {
  try {
    return await rpc.call("session.import", params);
  } catch (error) {
    const signer = error instanceof SvcError ? error.details?.signer : undefined;
    if (typeof signer !== "string") throw error;
    const { message, hint } = error as SvcError;
    if (!yes) {
      if (!Deno.stdin.isTerminal()) {
        throw new SvcError("permission_denied", message, {
          hint: `${hint}. --yes imports it, --trust KEY if that key has signed it`,
        });
      }
      console.error(exactLine(named(`${message}; ${hint}`)));
      if (!confirm("Import it?")) throw new SvcError("permission_denied", "nothing was imported");
    }
    return await rpc.call("session.import", { ...params, signer });
  }
}

/** Returns an error about a file as one about standard input. */
function aboutInput({ code, message, hint, details }: SvcError, path: string): SvcError {
  const about = message.replaceAll(path, "standard input");
  return new SvcError(code, about, { hint, details });
}

const KNOWN = {
  this_machine: "this machine",
  trusted: "a key that you trust",
  confirmed: "a key that is not known here",
};

function signedText({ signed_by }: Imported): string {
  if (signed_by === undefined) return "not signed";
  const { fingerprint, known } = signed_by;
  return `signed by ${exactLine(fingerprint)}, ${KNOWN[known]}`;
}

/** Saves standard input, at most as much as can be imported. */
async function saveInput(path: string): Promise<void> {
  const file = await Deno.open(path, { createNew: true, write: true, mode: 0o600 });
  // Not `using`: the minifier inlines its only use, and it would never be closed.
  try {
    let bytes = 0;
    for await (const chunk of Deno.stdin.readable) {
      bytes += chunk.length;
      if (bytes > SESSION_FILE_MAX) {
        throw new SvcError("validation", "standard input is larger than 512 MiB");
      }
      await writeAll(file, chunk);
    }
  } finally {
    file.close();
  }
}

/** A key itself, or those in a file, as of `ssh-keygen` or one in each line. */
async function keysIn(given: string): Promise<string[]> {
  const keys = (text: string) => text.match(/ssh-ed25519 [A-Za-z0-9+/=]+/g) ?? [];
  const found = given.startsWith("ssh-ed25519 ") ? keys(given) : keys(await readText(given));
  if (found.length > 0) return found;
  throw new UsageError(
    `--trust: there is no ssh-ed25519 key in ${given}`,
    "pass what `svc ledger key` prints on the other machine, or a file with it",
  );
}

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(absolute(path));
  } catch (error) {
    throw new UsageError(`--trust: cannot read ${path}: ${messageOf(error)}`);
  }
}
