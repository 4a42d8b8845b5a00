/** Lets one deploy of a target run at a time among all svc processes of a user on this machine. */
import { delay } from "@std/async";
import { join } from "@std/path";
import { sha256Hex } from "../../../base/sha256.ts";
import { ensurePrivateDir, readTextIfAny, realPathIfAny } from "../../../os/files.ts";
import { KernelFiles } from "../../../os/kernel_files.ts";
import { takeLock } from "../../../os/lock.ts";
import type { Env } from "../../../os/paths.ts";
import { isAlive } from "../../../os/process.ts";
import type { DeployTarget } from "../../tool_servers/deploy_target.ts";

export interface DeployLock {
  /** Records the process of the command, which goes on if this process is killed. */
  started(pid: number): void;
  release(): void;
}

interface Waiting {
  signal: AbortSignal;
  /** Called once if another deploy is running. */
  onWait(): void;
}

const RETRY_MS = 100;

/**
 * Returns the directory of the locks. It is the same for all of a user's processes, whatever their
 * homes, TMPDIR and XDG_RUNTIME_DIR: a service and a shell have different ones. Commands in a
 * sandbox have another /tmp.
 */
export function deployLocks(env: Env): string {
  if (Deno.build.os === "windows") return join(env("LOCALAPPDATA") ?? "C:\\Temp", "svc-deploys");
  return `/tmp/svc-${Deno.uid()}-deploys`;
}

/**
 * Waits until no other deploy of the target runs, and keeps others from starting. The system
 * releases the lock when this process dies; the next deploy then also waits for the end of the
 * command that this one has left.
 *
 * @throws {SvcError} permission_denied when the directory is not the user's alone
 * @throws the signal's reason when it was aborted while waiting
 */
export async function lockDeploy(
  dir: string,
  target: DeployTarget,
  { signal, onWait }: Waiting,
): Promise<DeployLock> {
  const path = join(dir, await placeOf(target));
  let told = false;
  const pause = async () => {
    if (!told) onWait();
    told = true;
    await delay(RETRY_MS, { signal });
  };
  const take = async (path: string) => {
    for (;; await pause()) {
      signal.throwIfAborted();
      ensurePrivateDir(dir);
      const lock = await takeLock(path);
      if (lock !== undefined) return lock;
    }
  };
  // Without this, a process with several deploys could take the lock again before any other looks.
  const gate_path = `${path}.next`;
  const gate = await take(gate_path);
  try {
    const lock = await take(path);
    try {
      while (await isRunning(path)) await pause();
    } catch (error) {
      // The file stays, because it names the command.
      lock.release();
      throw error;
    }
    return {
      started(pid) {
        try {
          Deno.writeTextFileSync(path, `${pid} ${startOf(pid)}`);
        } catch {
          // On a full disk the deploy is kept apart while this process lives.
        }
      },
      release() {
        removeLocked(path);
        lock.release();
      },
    };
  } finally {
    removeLocked(gate_path);
    gate.release();
  }
}

/**
 * Identifies what is deployed and where: the target's name, its command and where that runs, and
 * the address at which the result is seen. Arguments, variables, timeouts and commits are left out:
 * two homes may set them differently and still deploy to the same place. To take two targets for
 * one only makes the second wait; to miss that they are one would let them overlap.
 */
export async function placeOf({ name, command, cwd, health_url }: DeployTarget): Promise<string> {
  const place = [name, command, realPathIfAny(cwd) ?? cwd, health_url];
  return (await sha256Hex(JSON.stringify(place))).slice(0, 32);
}

/** Whether the command that the lock's last holder recorded is still running. */
async function isRunning(path: string): Promise<boolean> {
  const [, pid, start] = /^(\d+) (\d*)$/.exec(await readTextIfAny(path) ?? "") ?? [];
  return pid !== undefined && isAlive(Number(pid)) && startOf(Number(pid)) === start;
}

/** When a process started, because the system uses its number again; empty if unknown. */
function startOf(pid: number): string {
  // Not `using`, which the minifier of `deno bundle` drops here.
  const files = KernelFiles.open();
  try {
    // The name of the program, in parentheses, may contain blanks.
    const stat = files?.read(`/proc/${pid}/stat`)?.replace(/^.*\) /s, "").split(" ") ?? [];
    const [state, start = ""] = [stat[0], stat[19]];
    return state === "Z" ? "" : start;
  } finally {
    files?.[Symbol.dispose]();
  }
}

/** Removes the file of a lock that we hold; Windows does not allow that. */
function removeLocked(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // The next deploy of the target uses it.
  }
}
