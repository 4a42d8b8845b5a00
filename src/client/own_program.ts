import { fromFileUrl } from "@std/path";

/** The command to run this program again: the binary, or Deno with the sources. */
export interface Program {
  command: string;
  /** Arguments before those of `svc`. */
  first_args: string[];
}

export function ownProgram(): Program {
  // Linux marks the path of a replaced binary; the new binary is at the path.
  const command = Deno.execPath().replace(/ \(deleted\)$/, "");
  if (Deno.build.standalone) return { command, first_args: [] };
  const config = fromFileUrl(new URL("../../deno.json", import.meta.url));
  const main = fromFileUrl(new URL("../../main.ts", import.meta.url));
  const permissions = Deno.build.os === "windows" ? "windows" : "default";
  return {
    command,
    first_args: ["run", "--quiet", `--permission-set=${permissions}`, `--config=${config}`, main],
  };
}
