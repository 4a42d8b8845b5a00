import { readDiscovery } from "../client/discovery.ts";
import { SvcError } from "../protocol/errors.ts";
import { visible } from "../base/visible.ts";
import type { SessionItem } from "../session/session_item.ts";
import { print, withDaemon } from "./daemon_call.ts";
import type { Input } from "./spec.ts";
import { ownPaths } from "./environment.ts";
import { table } from "./table.ts";
import type * as spec from "./table/ctl.ts";
import { absolute } from "./workdir.ts";

/** Runs `svc ctl discover`. */
export async function discover({ flags }: Input<typeof spec.DISCOVER>): Promise<number> {
  const { discovery: path } = ownPaths();
  const record = await readDiscovery(path);
  if (record === undefined) {
    throw new SvcError("not_found", `no daemon is running: there is no discovery file at ${path}`, {
      hint: "`svc serve` starts the daemon",
    });
  }
  if (flags.json) return print(record);
  console.log(table(Object.entries(record).map(([name, value]) => [name, String(value)])));
  return 0;
}

/** Runs `svc ctl sessions list`. */
export async function listSessions({ flags }: Input<typeof spec.SESSIONS_LIST>): Promise<number> {
  const params = { include_ended: flags.all };
  const { sessions } = await withDaemon((rpc) => rpc.call("session.list", params));
  if (flags.json) return print({ sessions });
  if (sessions.length === 0) console.log("no sessions; `svc chat` starts one");
  else console.log(sessionTable(sessions));
  return 0;
}

/** Runs `svc ctl sessions get`. */
export async function getSession({ args }: Input<typeof spec.SESSIONS_GET>): Promise<number> {
  return print(await withDaemon((rpc) => rpc.call("session.get", args)));
}

/** Runs `svc ctl sessions start`. */
export async function startSession(
  { flags: { model, approval, prompt, json }, args }: Input<typeof spec.SESSIONS_START>,
): Promise<number> {
  const params = { workdir: absolute(args.workdir), model, approval, prompt };
  const started = await withDaemon((rpc) => rpc.call("session.start", params));
  if (json) return print(started);
  console.log(started.session_id);
  return 0;
}

/** Runs `svc ctl sessions configure`. */
export async function configureSession(
  { flags: { model, approval, budget, title, json }, args: { session_id } }: Input<
    typeof spec.SESSIONS_CONFIGURE
  >,
): Promise<number> {
  const params = { session_id, model, approval, budget_usd: budget, title };
  const { changed, ...now } = await withDaemon((rpc) => rpc.call("session.configure", params));
  if (json) return print({ changed, ...now });
  const rows = Object.entries(now).map(([name, value]) => [name, String(value)]);
  console.log(table(rows));
  return 0;
}

/** Runs `svc ctl sessions kill`. */
export async function killSession(
  { flags, args: { session_id } }: Input<typeof spec.SESSIONS_KILL>,
): Promise<number> {
  await withDaemon((rpc) => rpc.call("session.kill", { session_id }));
  if (flags.json) return print({ session_id, state: "ended" });
  console.log(`ended ${session_id}`);
  return 0;
}

/** Runs `svc ctl ledger verify`. */
export async function verifyLedger(
  { flags, args: { session_id } }: Input<typeof spec.LEDGER_VERIFY>,
): Promise<number> {
  const result = await withDaemon((rpc) => rpc.call("ledger.verify", { session_id }));
  if (flags.json) print(result);
  else if (result.ok) {
    console.log(
      `the hash chain is intact: ${result.records} records, anchored up to seq ${result.anchored_seq}`,
    );
    console.log(`head ${result.head}`);
  } else {
    console.error(`svc: the hash chain of ${session_id} is broken: ${visible(result.problem)}`);
  }
  return result.ok ? 0 : 1;
}

/** Runs `svc ctl call`. */
export async function call({ args }: Input<typeof spec.CALL>): Promise<number> {
  return print(await withDaemon((rpc) => rpc.call(args.method, args.params)));
}

function sessionTable(sessions: SessionItem[]): string {
  const rows = sessions.map(({ id, state, activity, model, cost_usd, workdir, reason }) => [
    id,
    state === "running" ? activity : state,
    model,
    `$${cost_usd.toFixed(2)}`,
    reason ? `${workdir} (${reason})` : workdir,
  ]);
  return table([["SESSION", "STATE", "MODEL", "COST", "WORKDIR"], ...rows]);
}
