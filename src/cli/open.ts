import { connectOrStart } from "../client/connect.ts";
import { openInBrowser } from "../os/open_url.ts";
import { sessionDirs } from "../os/session_dirs.ts";
import type { Input } from "./spec.ts";
import { useOnce } from "./daemon_call.ts";
import { ownPaths } from "./environment.ts";
import type { OPEN } from "./table/chat.ts";

/** Runs `svc open`: shows the web app in the person's browser. */
export async function run({ flags, args }: Input<typeof OPEN>): Promise<number> {
  const { session_id } = args;
  const paths = ownPaths();
  const connecting = connectOrStart(paths, () => console.error("starting the daemon …"));
  const url = await useOnce(connecting, async (rpc) => {
    if (session_id !== undefined) await rpc.call("session.get", { session_id });
    const { port } = await rpc.call("daemon.discover");
    return `http://127.0.0.1:${port}/${session_id === undefined ? "" : `sessions/${session_id}`}`;
  });
  console.log(url);
  if (flags.print || await openInBrowser(url, sessionDirs(paths.index))) return 0;
  console.error("svc: could not start a browser; open the address above yourself");
  return 1;
}
