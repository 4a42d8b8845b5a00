/**
 * The test command: each test file in a process of its own, or some that only read in one, a few
 * processes at a time, and what failed once more. `--help` says how to call it, `runner/options.ts`
 * has the text.
 */
import { HELP, type Options, readOptions } from "./runner/options.ts";
import { everything, named, partOf } from "./runner/files.ts";
import { Run } from "./runner/run.ts";

async function main(): Promise<number> {
  let options: Options;
  let files;
  let left_out = 0;
  try {
    options = readOptions(Deno.args, (name) => Deno.env.get(name), navigator.hardwareConcurrency);
    if (options.help) {
      console.log(HELP);
      return 0;
    }
    const { paths } = options;
    if (paths.length > 0) files = await named(paths, Boolean(Deno.env.get("SVC_BIN")));
    else ({ files, left_out } = await everything(options.all));
    files = partOf(files, options.shard);
    if (options.ignoring) files = files.filter(({ reads_only }) => !reads_only);
  } catch (error) {
    console.error(`test: ${(error as Error).message}`);
    return 1;
  }
  return await new Run(options, files, left_out).toEnd();
}

if (import.meta.main) Deno.exit(await main());
