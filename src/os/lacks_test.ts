import { assert } from "@std/assert";
import { RootedError } from "../jail/rooted_path.ts";
import { lacksForNow } from "./lacks.ts";

Deno.test("a lack of processes, memory or descriptors is told from what holds", () => {
  const coded = (code: string) => Object.assign(new Error("failed"), { code });
  for (
    const lack of [
      coded("EMFILE"),
      coded("EAGAIN"),
      new RootedError("other", "config: openat failed (EMFILE)", "EMFILE"),
      new Error("Failed to spawn 'bwrap': Resource temporarily unavailable (os error 11)"),
      "bwrap: Can't fork for pid 1: Resource temporarily unavailable",
      "sh: 47: Cannot fork",
      "bwrap: Can't mount tmpfs: Cannot allocate memory",
      "bash: xmalloc: cannot allocate 1024 bytes (0 bytes allocated)",
      new Error("Failed to spawn 'bwrap': Text file busy (os error 26)"),
    ]
  ) assert(lacksForNow(lack), String(lack));
  for (
    const lasting of [
      coded("ENOENT"),
      new RootedError("not_regular", "interrupted: is not a regular file"),
      new Deno.errors.PermissionDenied("Permission denied (os error 13)"),
      "bwrap: No permissions to create a new namespace",
      "bwrap: Unknown option --bind-fd",
      "bwrap: Creating new namespace failed: nesting depth or " +
      "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
      undefined,
    ]
  ) assert(!lacksForNow(lasting), String(lasting));
});
