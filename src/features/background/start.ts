/** `run_command` with `background`. */
import { isWorkTitle } from "../../session/ids.ts";
import { accessWords } from "../../protocol/command_access.ts";
import { stillGranted } from "../../agent/run_command.ts";
import { decideHost } from "../../agent/way_out.ts";
import type { Command, ToolOutcome, ToolScope } from "../../agent/tool.ts";
import type { Host } from "../../verbs/host.ts";

type StartParts = Pick<
  Host,
  | "background"
  | "granted"
  | "hub"
  | "ids"
  | "networkOf"
  | "opened"
  | "sandbox"
  | "space"
  | "unconfined"
  | "wayOut"
>;

/** Starts a command line and returns at once. */
export async function startInBackground(
  parts: StartParts,
  { command, timeout_s, network = false, outside_sandbox = false, paths = [], granted = [] }:
    Command,
  { session_id, call_id, workdir, hidden, added, signal, mayConnect }: ToolScope,
): Promise<ToolOutcome> {
  const session = await parts.hub.get(session_id);
  const { trust, title } = session.state;
  // It could change what its session has made after that was looked at.
  if (trust !== "trusted" || isWorkTitle(title)) {
    return { ok: false, output: "only sessions of a person have commands in the background" };
  }
  const space = await parts.space(session_id);
  const { env, grants } = await parts.granted(session_id);
  const all = network || parts.networkOf(session.state) === true;
  // Nobody is asked for a command that runs beside its session's calls.
  const way_out = all || outside_sandbox
    ? undefined
    : await parts.wayOut(session_id, decideHost(mayConnect, false));
  const scope = {
    session_id,
    workdir,
    hidden,
    added: [...added, ...parts.opened(paths)],
    env,
    grants: stillGranted(grants, granted),
    space,
    checkout: space?.checkout,
    network: all,
    proxy: way_out?.proxy,
    shares_network: true,
    background: true,
  };
  const sandbox = await (outside_sandbox ? parts.unconfined() : parts.sandbox());
  const background = await parts.background.get();
  const { command_id, process } = await background.start(session, {
    command_id: parts.ids.next("cmd"),
    call_id,
    command,
    beyond: accessWords({ network, outside_sandbox, paths }),
    way_out,
    scope,
    sandbox,
    timeout_ms: timeout_s === undefined ? undefined : timeout_s * 1000,
    signal,
  });
  if (process.end?.problem !== undefined) return { ok: false, output: process.end.problem };
  const notes = [`started in the background as ${command_id}`];
  if (sandbox.kind === "bubblewrap") {
    notes.push("[.git is read-only for it]");
    if (!scope.network) notes.push(await sandbox.sharesNetwork(session_id) ? SHARED : ALONE);
  }
  if ((sandbox.kind === "landlock" || sandbox.kind === "seatbelt") && !scope.network) {
    notes.push(WITHOUT_PORTS);
  }
  return { ok: true, output: notes.join("\n") };
}

const SHARED =
  "[it has no network of the machine: only this session's commands without network: true " +
  "reach the ports that it opens, at localhost]";

const WITHOUT_PORTS = "[it has no network and can open no port: start a server with network: true]";
const ALONE = "[it has no network, so no other command can connect to a port that it opens: test " +
  "a server in the same command line, over a Unix socket in /tmp, or start both with network: true]";
