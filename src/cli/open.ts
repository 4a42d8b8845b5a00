/** `svc open`: the web app in the person's browser. */
import { deadline } from "@std/async";
import { connectOrStart } from "../client/connect.ts";
import { parseFlags, UsageError } from "./args.ts";
import { ownPaths } from "./environment.ts";

const HELP = `Opens the web app in your browser. Starts the daemon if none runs.

Usage: svc open [<session id>] [--print]

  --print   only print the address`;

/** What opens an address, by system. */
const OPENERS: Partial<Record<typeof Deno.build.os, [string, string[]]>> = {
  darwin: ["open", []],
  windows: ["rundll32", ["url.dll,FileProtocolHandler"]],
};
const OTHER_OPENER: [string, string[]] = ["xdg-open", []];
/** An opener that still runs after this long is the browser itself. */
const OPENED_MS = 3_000;

/** Runs `svc open`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, rest } = parseFlags(argv, { boolean: ["print"], string: [] });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  const [session_id, ...more] = rest;
  if (more.length > 0) throw new UsageError("svc open takes one session");
  const rpc = await connectOrStart(ownPaths(), () => console.error("starting the daemon …"));
  let url: string;
  try {
    if (session_id !== undefined) await rpc.call("session.get", { session_id });
    const { port } = await rpc.call("daemon.discover");
    url = `http://127.0.0.1:${port}/${session_id === undefined ? "" : `sessions/${session_id}`}`;
  } finally {
    rpc.close();
  }
  console.log(url);
  if (boolean.print || await openInBrowser(url)) return 0;
  console.error("svc: no browser could be started; open the address above yourself");
  return 1;
}

/** Hands an address to the system's opener. @returns whether it took it. */
async function openInBrowser(url: string): Promise<boolean> {
  const [program, args] = OPENERS[Deno.build.os] ?? OTHER_OPENER;
  try {
    const child = new Deno.Command(program, {
      args: [...args, url],
      stdin: "null",
      stdout: "null",
      stderr: "null",
      detached: true,
    }).spawn();
    child.unref();
    return (await deadline(child.status, OPENED_MS)).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    if (error instanceof DOMException && error.name === "TimeoutError") return true;
    throw error;
  }
}
