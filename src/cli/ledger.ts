/** `svc ledger`. */
import { TextLineStream } from "@std/streams";
import { exactLine } from "../base/visible.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { BadLedger, checkLedger, type LedgerCheck } from "../session/ledger_file.ts";
import { writeAll } from "../base/write_all.ts";
import { print, withDaemon } from "./daemon_call.ts";
import type { Input } from "./spec.ts";
import type * as spec from "./table/ledger.ts";
import { writeWhole } from "./whole_file.ts";
import { absolute } from "./workdir.ts";
import { named } from "./own_name.ts";

/** Runs `svc ledger export`. The file appears only when it is complete, and replaces no other. */
export async function exportLedger(
  { flags, args: { session_id } }: Input<typeof spec.EXPORT>,
): Promise<number> {
  const output = flags.output ?? `${session_id}.ledger`;
  if (output === "-") {
    await writePages(session_id, Deno.stdout);
    return 0;
  }
  const path = absolute(output);
  const hint = "name another file with --output";
  await writeWhole(path, { replace: false, hint }, (file) => writePages(session_id, file));
  console.log(path);
  return 0;
}

async function writePages(session_id: string, to: { write(bytes: Uint8Array): Promise<number> }) {
  await withDaemon(async (rpc) => {
    let cursor: string | undefined;
    do {
      const { lines, next_cursor } = await rpc.call("ledger.export", { session_id, cursor });
      await writeAll(to, new TextEncoder().encode(lines.map((it: string) => `${it}\n`).join("")));
      cursor = next_cursor;
    } while (cursor !== undefined);
  });
}

/** Runs `svc ledger verify`. */
export async function verify(
  { flags, args: { file: path } }: Input<typeof spec.VERIFY>,
): Promise<number> {
  const key = flags.key === undefined ? undefined : await keyText(flags.key);
  let checked: LedgerCheck;
  // Not `using`: the minifier inlines its only use, and it would never be closed.
  const file = await Deno.open(absolute(path));
  try {
    const lines = file.readable.pipeThrough(new TextDecoderStream("utf-8", { fatal: true }))
      .pipeThrough(new TextLineStream());
    checked = await checkLedger(lines, key);
  } catch (error) {
    const no_text = error instanceof TypeError;
    if (!(error instanceof BadLedger) && !no_text) throw error;
    const problem = no_text ? "this is no ledger: it is not UTF-8 text" : messageOf(error);
    if (flags.json) print({ ok: false, problem });
    else console.error(`svc: ${path} proves nothing: ${exactLine(problem)}`);
    return 1;
  } finally {
    file[Symbol.dispose]();
  }
  const { statement, fingerprint, shortened } = checked;
  if (flags.json) return print({ ok: true, ...statement, fingerprint, shortened });
  const { session_id, records, exported_at } = statement;
  console.log(exactLine(`${records} records of session ${session_id}, exported at ${exported_at}`));
  console.log("none is missing or changed");
  if (shortened) {
    console.log("older records had been removed by then; a checkpoint stands for them");
  }
  console.log(`signed by ${fingerprint}`);
  if (key === undefined) {
    console.log(
      named("Compare it with `svc ledger key` of that machine, or pass that key with --key."),
    );
  }
  return 0;
}

/** A key itself, or the first line of a file with one. */
async function keyText(given: string): Promise<string> {
  if (given.startsWith("ssh-ed25519 ")) return given;
  try {
    return (await Deno.readTextFile(absolute(given))).split("\n")[0];
  } catch (cause) {
    throw new SvcError("validation", `--key: cannot read ${given}: ${messageOf(cause)}`, {
      hint: "pass the line that `svc ledger key` prints, or a file with it",
      cause,
    });
  }
}

/** Runs `svc ledger key`. */
export async function key({ flags }: Input<typeof spec.KEY>): Promise<number> {
  const found = await withDaemon((rpc) => rpc.call("ledger.key"));
  if (flags.json) return print(found);
  console.log(found.public_key);
  return 0;
}
