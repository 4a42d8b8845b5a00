import { readDiscovery } from "../client/discovery.ts";
import { SvcError } from "../protocol/errors.ts";
import { nearestOf } from "../base/nearest.ts";
import type { SessionItem } from "../session/session_item.ts";
import { parseFlags, UsageError } from "./args.ts";
import { QUEUE, QUEUE_HELP } from "./ctl_queue.ts";
import { type Handler, print, required, withDaemon } from "./daemon_call.ts";
import { ownPaths } from "./environment.ts";
import { table } from "./table.ts";
import { absolute } from "./workdir.ts";
import { visible } from "../base/visible.ts";

const HELP = `Looks at and steers the running daemon.

Usage: svc ctl <command> [--json]

  discover                        print the discovery record
  sessions list [--all]           list sessions; --all shows the ended ones too
  sessions get <session_id>       show one session
  sessions start <workdir> [--model <id>] [--approval auto|ask|read_only] [--prompt <text>]
  sessions kill <session_id>      end a session for good
  ledger verify <session_id>      compute a journal's hash chain anew and check it
${QUEUE_HELP}
  call <method> [<json>]          call any verb, such as: svc ctl call session.send '{…}'

  --json    machine-readable output`;

const SESSIONS: Record<string, Handler> = {
  list: async ({ boolean }) => {
    const params = { include_ended: boolean.all ?? false };
    const { sessions } = await withDaemon((rpc) => rpc.call("session.list", params));
    if (boolean.json) return print({ sessions });
    if (sessions.length === 0) console.log("no sessions; `svc chat` starts one");
    else console.log(sessionTable(sessions));
    return 0;
  },
  get: async (_flags, [session_id]) => {
    required(session_id, "session_id");
    return print(await withDaemon((rpc) => rpc.call("session.get", { session_id })));
  },
  start: async ({ boolean, string }, [workdir]) => {
    required(workdir, "workdir");
    const { model, approval, prompt } = string;
    const params = { workdir: absolute(workdir), model, approval, prompt };
    const started = await withDaemon((rpc) => rpc.call("session.start", params));
    if (boolean.json) return print(started);
    console.log(started.session_id);
    return 0;
  },
  kill: async ({ boolean }, [session_id]) => {
    required(session_id, "session_id");
    await withDaemon((rpc) => rpc.call("session.kill", { session_id }));
    if (boolean.json) return print({ session_id, state: "ended" });
    console.log(`ended ${session_id}`);
    return 0;
  },
};

const COMMANDS: Record<string, Handler> = {
  discover: async ({ boolean }) => {
    const { discovery: path } = ownPaths();
    const record = await readDiscovery(path);
    if (record === undefined) {
      throw new SvcError("not_found", `there is no discovery file at ${path}`, {
        hint: "no daemon runs; `svc serve` starts one",
      });
    }
    if (boolean.json) return print(record);
    console.log(table(Object.entries(record).map(([name, value]) => [name, String(value)])));
    return 0;
  },
  sessions: (flags, [verb, ...args]) => {
    const handler = SESSIONS[verb];
    if (handler === undefined) throw unknown("svc ctl sessions", verb, Object.keys(SESSIONS));
    return handler(flags, args);
  },
  ledger: async ({ boolean }, [verb, session_id]) => {
    if (verb !== "verify") throw unknown("svc ctl ledger", verb, ["verify"]);
    required(session_id, "session_id");
    const result = await withDaemon((rpc) => rpc.call("ledger.verify", { session_id }));
    if (boolean.json) print(result);
    else if (result.ok) {
      console.log(
        `${result.records} records, anchored up to seq ${result.anchored_seq}: the chain holds`,
      );
      console.log(`head ${result.head}`);
    } else {console.error(
        `svc: the ledger of ${session_id} does not hold: ${visible(result.problem)}`,
      );}
    return result.ok ? 0 : 1;
  },
  ...QUEUE,
  call: async (_flags, [method, json = "{}"]) => {
    required(method, "method");
    let params: unknown;
    try {
      params = JSON.parse(json);
    } catch {
      throw new UsageError(`the parameters are not valid JSON: ${json}`);
    }
    return print(await withDaemon((rpc) => rpc.call(method, params)));
  },
};

/** Runs `svc ctl`. */
export async function run(argv: string[]): Promise<number> {
  const flags = parseFlags(argv, {
    boolean: ["json", "all"],
    string: ["model", "approval", "prompt", "workdir", "state", "cursor"],
    alias: { m: "model" },
  });
  const [name, ...args] = flags.rest;
  if (flags.boolean.help || name === undefined) {
    console.log(HELP);
    return flags.boolean.help ? 0 : 2;
  }
  const handler = COMMANDS[name];
  if (handler === undefined) throw unknown("svc ctl", name, Object.keys(COMMANDS));
  return await handler(flags, args);
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

function unknown(command: string, word: string | undefined, known: string[]): UsageError {
  if (word === undefined) return new UsageError(`${command} takes one of: ${known.join(", ")}`);
  const nearest = nearestOf(word, known);
  const hint = nearest ? `did you mean "${nearest}"?` : `known: ${known.join(", ")}`;
  return new UsageError(`${command} has no command "${word}"; ${hint}`);
}
