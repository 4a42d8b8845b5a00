import { granted } from "./permissions.ts";

/** Whether bubblewrap is installed here. */
export const has_bubblewrap = granted("read") &&
  ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].some((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
