/** Removes a session's data from a segment of the bus. */
import { dirname } from "@std/path";
import { setImmediate } from "node:timers/promises";
import { flushDir } from "../../os/files.ts";
import { readLineBatches } from "../../os/lines.ts";
import { writeAllSync } from "../../base/write_all.ts";
import { BUS_VERSION, decodeBusRecord } from "./record.ts";

const encoder = new TextEncoder();

/**
 * Blanks a scope's records in a segment, and replaces the file atomically.
 * @throws the system's error; the segment is then unchanged
 */
export async function blankSegment(path: string, scope: string): Promise<void> {
  const { size } = Deno.lstatSync(path);
  if (!(await names(path, size, scope))) return;
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  const file = Deno.openSync(temporary, { write: true, createNew: true, mode: 0o600 });
  try {
    for await (const lines of readLineBatches(path, 0, size)) {
      for (const { line, offset, end, whole } of lines) {
        const length = end - offset - (whole ? 1 : 0);
        const text = line.includes(scope) ? blanked(line, scope, length) : line;
        writeAllSync(file, encoder.encode(whole ? `${text}\n` : text));
      }
      await setImmediate();
    }
    await file.sync();
    Deno.renameSync(temporary, path);
  } catch (error) {
    Deno.removeSync(temporary);
    throw error;
  } finally {
    file.close();
  }
  await flushDir(dirname(path));
}

async function names(path: string, size: number, scope: string): Promise<boolean> {
  for await (const lines of readLineBatches(path, 0, size)) {
    if (lines.some(({ line }) => line.includes(scope))) return true;
    await setImmediate();
  }
  return false;
}

/** @param length the line's bytes, which stay */
function blanked(line: string, scope: string, length: number): string {
  const record = decodeBusRecord(line);
  // Another session may mention it.
  if (record !== undefined && record.scope !== scope) return line;
  if (record === undefined) return " ".repeat(length);
  const { seq, at } = record;
  const begin = `{"v":${BUS_VERSION},"bus_seq":${seq},"at":"${at}","task_scope":"${scope}",`;
  for (const type of ["session.deleted", record.type]) {
    const text = `${begin}"type":"${type}","data":{}}`;
    if (text.length <= length) return text.padEnd(length);
  }
  return " ".repeat(length);
}
