import { runProgram } from "../os/program.ts";
import { type CommandSpace, storedCaches, storeOf } from "./command_space.ts";

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
  const sizes = await bytesOf(directories, 0, writable);
  const held = sizes.get(tmp);
  return held === undefined ? undefined : { tmp: held, caches: sizes.get(caches!) ?? 0 };
}

/** What the commands of all sessions have left in a store. */
export interface StoreSizes {
  /** The largest first. */
  caches: readonly { workdir: string; bytes: number }[];
  /** Of each session. */
  tmp: readonly number[];
}

/** Measures a store, as {@linkcode sizesOf} does; a deadline may leave out some of it. */
export async function storeSizes(root: string, writable: readonly string[]): Promise<StoreSizes> {
  const { tmp, caches } = storeOf(root);
  const sizes = await bytesOf([tmp, caches], 1, writable);
  const found = storedCaches(root).flatMap(({ caches, workdir }) => {
    const bytes = sizes.get(caches);
    return bytes === undefined ? [] : [{ workdir, bytes }];
  });
  return {
    caches: found.sort((one, other) => other.bytes - one.bytes),
    tmp: [...sizes].filter(([path]) => path.startsWith(`${tmp}/`)).map(([, bytes]) => bytes),
  };
}

/** Returns the bytes of directories, and of those this deep in them. */
async function bytesOf(
  directories: readonly string[],
  depth: number,
  writable: readonly string[],
): Promise<Map<string, number>> {
  // Ignores the exit code, because files come and go meanwhile.
  const said = await runProgram("du", ["-kxd", `${depth}`, ...directories], writable, TIMEOUT_MS);
  return new Map(
    (said?.stdout ?? "").split("\n").flatMap((line): [string, number][] => {
      const [kib, path] = line.split("\t");
      return path === undefined ? [] : [[path, Number(kib) * 1024]];
    }),
  );
}
