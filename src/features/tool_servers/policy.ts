/** `policy.yaml`: the tool servers that the operator or a project offers to sessions. */
import { readTextIfAny } from "../../os/files.ts";
import { dirname, join } from "@std/path";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Trust } from "../../protocol/events.ts";
import type { DeployTarget } from "../../config/deploy_target.ts";

/** One entry of `mcp_servers`, with all defaults. */
export type ServerEntry = CommonEntry & (StdioEntry | HttpEntry);

interface CommonEntry {
  name: string;
  /** The variable of the daemon's environment with the credential. */
  auth_env?: string;
  /** Untrusted sessions see and call only the tools of untrusted servers. */
  trust: Trust;
  /** The most calls in progress; others wait. */
  max_concurrent: number;
  /** The time limit for one call. */
  timeout_ms: number;
  /** The server is stopped after this time without a call. */
  idle_ms: number;
  enabled: boolean;
}

export interface StdioEntry {
  transport: "stdio";
  command: string;
  args: string[];
  /** Values may name variables of the daemon's environment as `${NAME}`. */
  env: Record<string, string>;
}

export interface HttpEntry {
  transport: "http";
  /** https, or plain http on this machine. */
  url: string;
  /** Like `env`. */
  headers: Record<string, string>;
}

export interface Policy {
  servers: ServerEntry[];
  /** Deployment targets; only those in the operator's own file count. */
  deploy_targets: DeployTarget[];
}

/** The name of a project's policy file in its directory. */
export const PROJECT_POLICY = "svc.policy.yaml";

const FILE_MAX_BYTES = 1024 * 1024;

/**
 * Reads the operator's policy file.
 *
 * @returns no servers when there is no file
 * @throws {SvcError} validation, naming file, line, key and the nearest known key
 */
export async function readPolicy(path: string): Promise<Policy> {
  return await toPolicy(await readTextIfAny(path), path);
}

async function toPolicy(text: string | undefined, path: string): Promise<Policy> {
  if (text === undefined) return { servers: [], deploy_targets: [] };
  const { parsePolicy } = await import("./policy_file.ts");
  return parsePolicy(text, path);
}

/** A project's policy file, read again only when it has changed. */
export class ProjectPolicy {
  readonly path: string;
  #stamp = "";
  #policy: Policy = { servers: [], deploy_targets: [] };
  #sha256 = "";

  constructor(workdir: string) {
    this.path = join(workdir, PROJECT_POLICY);
  }

  /**
   * @returns the policy, the SHA-256 of its text, and whether it has changed since the last call
   * @throws {SvcError} permission_denied when another user could have written the file; validation
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
      this.#sha256 = await sha256Of(text ?? "");
      this.#stamp = stamp;
    }
    return { policy: this.#policy, sha256: this.#sha256, changed };
  }

  /**
   * Commands write in this directory, so the file may be replaced between the check and the read.
   */
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

async function sha256Of(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
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
