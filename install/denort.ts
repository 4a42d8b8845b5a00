/**
 * denort, the runtime that `deno compile` puts the program behind. Deno downloads it, and does not
 * check one that DENORT_BIN names: with any other file, the result does not run.
 */
import { Buffer } from "node:buffer";

const RELEASES = "https://github.com/denoland/deno/releases/download";

/** Why a binary cannot be built, and what to do; in a sentence, for the person who builds. */
export class BuildError extends Error {
  override name = "BuildError";
}

/** The version and the system that a runtime must have. */
export interface Wanted {
  /** Of Deno, such as `2.7.11`. */
  version: string;
  /** The system by Deno's name. */
  target: string;
}

/**
 * Checks the file that DENORT_BIN names.
 *
 * @throws {BuildError} when it is no runtime of that version.
 */
export async function requireRuntime(path: string, wanted: Wanted): Promise<void> {
  const refuse = (why: string) => {
    throw new BuildError(`DENORT_BIN: ${path} ${why}; ${remedy(wanted)}`);
  };
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    const { isFile } = await Deno.stat(path);
    if (!isFile) return refuse("is not a file");
    bytes = await Deno.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return refuse("does not exist");
    if (error instanceof Deno.errors.PermissionDenied) return refuse("cannot be read");
    throw error;
  }
  const found = versionIn(bytes);
  if (found === undefined) return refuse("is not the runtime of Deno");
  if (found !== wanted.version) return refuse(`is of Deno ${found}, not ${wanted.version}`);
}

/** The version of a runtime: every one has its own name for HTTP servers in it. */
function versionIn(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  const text = Buffer.from(bytes.buffer);
  for (let at = text.indexOf("Deno/"); at >= 0; at = text.indexOf("Deno/", at + 1)) {
    const [, version] = text.toString("latin1", at, at + 24).match(/^Deno\/(\d+\.\d+\.\d+)/) ?? [];
    if (version !== undefined) return version;
  }
}

/**
 * Explains why `deno compile` failed.
 *
 * @param said what it printed.
 */
export function compileProblem(said: string, wanted: Wanted): string {
  const [, cause] = said.match(/error sending request for url \(\S*denort\S*\): (.*)/) ??
    said.match(/denort\S*.*?: (.*)/) ?? [];
  if (cause === undefined) return `deno compile failed:\n${said.trimEnd()}`;
  return `cannot download denort, the runtime that the binary needs (${cause}); ${remedy(wanted)}`;
}

/**
 * Checks that a binary is svc: behind Deno itself, or behind another program, the bundle never runs.
 *
 * @throws {BuildError} when it is not.
 */
export async function requireSvc(binary: string, denort: string, wanted: Wanted): Promise<void> {
  // cwd-ok: it says its version and ends
  const runs = new Deno.Command(binary, { args: ["--version"], stdin: "null", stderr: "null" });
  const { stdout } = await runs.output();
  if (new TextDecoder().decode(stdout).startsWith("svc ")) return;
  await Deno.remove(binary);
  throw new BuildError(`DENORT_BIN: ${denort} is not the runtime of Deno; ${remedy(wanted)}`);
}

function remedy({ version, target }: Wanted): string {
  return `set DENORT_BIN to the path of denort, which is in ${RELEASES}/v${version}/denort-${target}.zip`;
}
