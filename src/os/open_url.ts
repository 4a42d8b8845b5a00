import { deadline } from "@std/async";
import { findOwn } from "./own_programs.ts";
import { startProgram } from "./start.ts";

const OPENERS: Partial<Record<typeof Deno.build.os, [string, string[]]>> = {
  darwin: ["open", []],
  windows: ["rundll32", ["url.dll,FileProtocolHandler"]],
};
const OTHER_OPENER: [string, string[]] = ["xdg-open", []];
/** An opener that runs longer is the browser itself. */
const OPENED_MS = 3_000;

/**
 * Opens an address in the person's browser.
 *
 * @param writable real paths that sessions can write; nothing is run from there
 * @returns whether the opener took it
 */
export async function openInBrowser(url: string, writable: readonly string[]): Promise<boolean> {
  const [program, args] = OPENERS[Deno.build.os] ?? OTHER_OPENER;
  const found = findOwn(program, Deno.env.get("PATH"), writable);
  if (found === undefined) return false;
  try {
    const child = startProgram("the browser", found.cmd, {
      args: [...args, url],
      // The opener is a script that looks for browsers itself.
      env: { PATH: found.path },
      cwd: "/",
      stdin: "null",
      stdout: "null",
      stderr: "null",
      detached: true,
    });
    child.unref();
    return (await deadline(child.status, OPENED_MS)).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    if (error instanceof DOMException && error.name === "TimeoutError") return true;
    throw error;
  }
}
