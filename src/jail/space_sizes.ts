import { runProgram } from "../os/program.ts";
import type { CommandSpace } from "./command_space.ts";

/** In bytes. */
export interface SpaceSizes {
  tmp: number;
  caches: number;
}

const TIMEOUT_MS = 60_000;

/**
 * Measures a session's directories with `du`, in a separate process, because there may be a million
 * files.
 *
 * @param writable as for {@linkcode runProgram}
 * @returns undefined if that fails
 */
export async function sizesOf(
  { tmp, caches }: Pick<CommandSpace, "tmp" | "caches">,
  writable: readonly string[],
): Promise<SpaceSizes | undefined> {
  const directories = caches === undefined ? [tmp] : [tmp, caches];
  // Ignores the exit code, because files come and go meanwhile.
  const said = await runProgram("du", ["-skx", ...directories], writable, TIMEOUT_MS);
  const sizes = new Map(
    (said?.stdout ?? "").split("\n").map((line) => {
      const [kib, path] = line.split("\t");
      return [path, Number(kib) * 1024];
    }),
  );
  const held = sizes.get(tmp);
  return held === undefined ? undefined : { tmp: held, caches: sizes.get(caches!) ?? 0 };
}
