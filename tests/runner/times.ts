/** How long files took in earlier runs of this checkout, so that the next run starts the longest first. */
import { isAbsolute, join } from "@std/path";
import type { FileRun } from "./file_run.ts";
import { keyOf, root } from "./files.ts";

const PATH = join(root, "dist", "test-times.json");

/** Returns the seconds by file; empty when nothing has run yet. */
export async function readTimes(): Promise<Record<string, number>> {
  try {
    return JSON.parse(await Deno.readTextFile(PATH));
  } catch {
    // Missing, or cut off by a full disk: the order is all that depends on it.
    return {};
  }
}

/** Keeps the times of files of the checkout. */
export async function keepTimes(runs: readonly FileRun[]): Promise<void> {
  const times = await readTimes();
  for (const { file, seconds } of runs) {
    if (!isAbsolute(file.path)) times[keyOf(file)] = Math.round(seconds * 100) / 100;
  }
  await Deno.mkdir(join(root, "dist"), { recursive: true });
  const part = `${PATH}.${Deno.pid}`;
  await Deno.writeTextFile(part, `${JSON.stringify(times, null, 1)}\n`);
  await Deno.rename(part, PATH);
}
