/** Opens the limits that a session's commands share, with the best mechanism of the machine. */
import { KernelFiles } from "../os/kernel_files.ts";
import { CommandGroups, delegatedGroup, groupPlaces } from "./command_groups.ts";
import { threadsOf, useOf } from "./process_use.ts";
import { SessionLimits, type SessionLimitsParts } from "./session_limits.ts";

/** Returns the limits; undefined if the system does not show what processes use. */
export function openSessionLimits(
  parts: Omit<SessionLimitsParts, "files" | "groups">,
): SessionLimits | undefined {
  const files = KernelFiles.open();
  if (files === undefined) return undefined;
  const found = groupOf(files, Deno.pid);
  const groups = "why" in found ? undefined : CommandGroups.open(files, found.directory);
  return new SessionLimits({ ...parts, files, groups });
}

export interface HeldLimits {
  /** By the kernel, by watching the processes, or per process only. */
  by: "cgroup" | "watch" | "process";
  /** Why not by the kernel, as a clause. */
  why?: string;
}

function groupOf(files: KernelFiles, pid: number) {
  const reading = { read: (path: string) => files.read(path), threads: threadsOf };
  return delegatedGroup(files, useOf(reading, pid, Infinity).pids, groupPlaces(pid));
}

/** Returns how a daemon holds limits. Changes nothing. */
export function heldLimits(pid: number): HeldLimits {
  using files = KernelFiles.open();
  if (files === undefined) return { by: "process", why: "the system does not show processes" };
  const found = groupOf(files, pid);
  return "why" in found ? { by: "watch", why: found.why } : { by: "cgroup" };
}
