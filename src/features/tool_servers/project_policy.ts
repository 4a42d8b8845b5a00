/** `svc.policy.yaml`: the tool servers of a project, in a file that commands may have written. */
import { dirname, join } from "@std/path";
import { sha256Hex } from "../../base/sha256.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { NO_POLICY, type Policy, PROJECT_POLICY, toPolicy } from "./policy.ts";

const FILE_MAX_BYTES = 1024 * 1024;

/** A project's policy file, read again only when it changes. */
export class ProjectPolicy {
  readonly path: string;
  #stamp = "";
  #policy: Policy = NO_POLICY;
  #sha256 = "";

  constructor(workdir: string) {
    this.path = join(workdir, PROJECT_POLICY);
  }

  /**
   * @returns also the text's SHA-256, and whether it changed since the last call
   * @throws {SvcError} permission_denied if another user could have written the file; validation
   * like {@linkcode readPolicy}
   */
  async read(): Promise<{ policy: Policy; sha256: string; changed: boolean }> {
    const info = await lstatIfAny(this.path);
    const stamp = info === undefined ? "" : `${info.ino} ${info.size} ${info.mtime?.getTime()}`;
    const changed = stamp !== this.#stamp;
    if (changed) {
      if (info !== undefined) checkProjectFile(this.path, info);
      const text = info && await this.#text();
      this.#policy = await toPolicy(text, this.path);
      this.#sha256 = await sha256Hex(text ?? "");
      this.#stamp = stamp;
    }
    return { policy: this.#policy, sha256: this.#sha256, changed };
  }

  /** Commands write in this directory: the file may be replaced between check and read. */
  async #text(): Promise<string | undefined> {
    // Most daemons never read a project's policy.
    const { readUntrusted } = await import("../../jail/untrusted_files.ts");
    try {
      return readUntrusted(
        dirname(this.path),
        (files) => files.text(this.path, FILE_MAX_BYTES),
      );
    } catch (error) {
      throw new SvcError("permission_denied", messageOf(error), {
        hint: "replace it by a regular file",
      });
    }
  }
}

async function lstatIfAny(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The file names programs to start, so no other user may be able to write it. */
function checkProjectFile(path: string, info: Deno.FileInfo): void {
  const refuse = (found: string, hint: string) => {
    throw new SvcError("permission_denied", `${path} ${found}`, { hint });
  };
  if (!info.isFile) refuse("is not a regular file", "replace it by a regular file");
  if (info.size > FILE_MAX_BYTES) refuse("is larger than 1 MiB", "make it smaller");
  if (info.mode === null || Deno.build.os === "windows") return;
  if (info.uid !== Deno.uid()) refuse(`belongs to uid ${info.uid}`, `chown ${Deno.uid()} ${path}`);
  if ((info.mode & 0o002) !== 0) refuse("can be written by everyone", `chmod o-w ${path}`);
}
