/** `svc ctl mcp`. */
import type { ServerItem, ServerProblem } from "../features/tool_servers/offer.ts";
import { openInBrowser } from "../os/open_url.ts";
import { sessionDirs } from "../os/session_dirs.ts";
import { SvcError } from "../protocol/errors.ts";
import { print, withDaemon } from "./daemon_call.ts";
import { ownPaths } from "./environment.ts";
import type { Input } from "./spec.ts";
import { table } from "./table.ts";
import type * as spec from "./table/ctl.ts";
import { named } from "./own_name.ts";

/** Runs `svc ctl mcp list`. */
export async function listServers({ flags }: Input<typeof spec.MCP_LIST>): Promise<number> {
  const found = await withDaemon((rpc) => rpc.call("mcp.list_servers"));
  if (flags.json) return print(found);
  const { servers, problems }: { servers: ServerItem[]; problems: ServerProblem[] } = found;
  if (servers.length === 0) console.log(named("no tool servers; see `svc ctl mcp --help`"));
  else {
    const rows = servers.map((it) => [it.name, it.transport, it.trust, status(it)]);
    console.log(table([["SERVER", "TRANSPORT", "TRUST", "STATUS"], ...rows]));
  }
  for (const { message } of problems) console.error(`svc: ${named(message)}`);
  return 0;
}

function status(
  { enabled, problem, breaker, connected, tools, logged_in }: ServerItem,
): string {
  if (!enabled) return "disabled";
  if (problem !== undefined) return named(problem);
  if (breaker !== "closed") return "failing, retried later";
  const parts = [connected > 0 ? "connected" : "not connected"];
  if (tools !== undefined) parts.push(`${tools} tools`);
  if (logged_in) parts.push("logged in");
  return parts.join(", ");
}

/** Runs `svc ctl mcp login`. */
export async function loginToServer(
  { flags, args: { name } }: Input<typeof spec.MCP_LOGIN>,
): Promise<number> {
  return await withDaemon(async (rpc) => {
    const { needed, url, open_url } = await rpc.call("mcp.login", { name });
    if (url === undefined || open_url === undefined) {
      if (flags.json) return print({ name, needed });
      console.log(`${name} does not require a login`);
      return 0;
    }
    console.error(`open this address to allow svc:\n${url}`);
    if (!flags.print && !await openInBrowser(open_url, sessionDirs(ownPaths().index))) {
      // Uses up the one-time address, so that nobody who read the command line can. If somebody
      // already has, the login ends; an earlier end has its reason in the result.
      await fetch(open_url, { redirect: "manual" }).then((it) => it.body?.cancel(), () => {});
      console.error("svc: could not start a browser; open the address above yourself");
    }
    await rpc.call("mcp.login_result", { name });
    if (flags.json) return print({ name, needed });
    console.log(`logged in to ${name}`);
    return 0;
  });
}

/** Runs `svc ctl mcp logout`. */
export async function logoutOfServer(
  { flags, args: { name } }: Input<typeof spec.MCP_LOGOUT>,
): Promise<number> {
  const { removed } = await withDaemon((rpc) => rpc.call("mcp.logout", { name }));
  if (!removed) throw new SvcError("not_found", `no saved login for ${name}`);
  if (flags.json) return print({ name, removed });
  console.log(`removed the login for ${name}`);
  return 0;
}
