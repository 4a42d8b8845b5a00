/** How much the directories hold that a session's commands keep. */
import { runProgram } from "../os/program.ts";
import type { CommandSpace } from "./command_space.ts";

/** Sizes in bytes. */
export interface SpaceSizes {
  tmp: number;
  caches: number;
}

/** How long measuring may take. */
const TIMEOUT_MS = 60_000;

/**
 * Measures the directories with `du`, in a process of its own: there may be a million files.
 *
 * @param writable as for {@linkcode runProgram}
 * @returns undefined where that cannot be done
 */
export async function sizesOf(
  { tmp, caches }: Pick<CommandSpace, "tmp" | "caches">,
  writable: readonly string[],
): Promise<SpaceSizes | undefined> {
  const directories = caches === undefined ? [tmp] : [tmp, caches];
  // Its exit code says nothing: files come and go while it looks.
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
