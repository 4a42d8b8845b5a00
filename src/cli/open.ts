/** `svc open`: the web app in the person's browser. */
import { connectOrStart } from "../client/connect.ts";
import { openInBrowser } from "../os/open_url.ts";
import { sessionDirs } from "../os/session_dirs.ts";
import { parseFlags, UsageError } from "./args.ts";
import { ownPaths } from "./environment.ts";

const HELP = `Opens the web app in your browser. Starts the daemon if none runs.

Usage: svc open [<session id>] [--print]

  --print   only print the address`;

/** Runs `svc open`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, rest } = parseFlags(argv, { boolean: ["print"], string: [] });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  const [session_id, ...more] = rest;
  if (more.length > 0) throw new UsageError("svc open takes one session");
  const paths = ownPaths();
  const rpc = await connectOrStart(paths, () => console.error("starting the daemon …"));
  let url: string;
  try {
    if (session_id !== undefined) await rpc.call("session.get", { session_id });
    const { port } = await rpc.call("daemon.discover");
    url = `http://127.0.0.1:${port}/${session_id === undefined ? "" : `sessions/${session_id}`}`;
  } finally {
    rpc.close();
  }
  console.log(url);
  if (boolean.print || await openInBrowser(url, sessionDirs(paths.index))) return 0;
  console.error("svc: no browser could be started; open the address above yourself");
  return 1;
}
