import { fromFileUrl } from "@std/path";

/** How this program is run again: the binary, or Deno with the sources. */
export interface Program {
  command: string;
  /** What comes before the arguments of `svc`. */
  first_args: string[];
}

/** This program, to be started once more. */
export function ownProgram(): Program {
  // Linux says so of a program whose file was replaced; at its path is the one that came after it.
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
