/** `svc permissions`. */
import { visible, visibleLine } from "../base/visible.ts";
import { print, withDaemon } from "./daemon_call.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { table } from "./table.ts";
import type { ADD, ALLOW, DENY, LIST, REMOVE, TEST, TRUST, UNTRUST } from "./table/permissions.ts";
import { hookLines, trustedText } from "../features/chat_commands/trust_text.ts";
import { absolute } from "./workdir.ts";

interface Item {
  action: string;
  rule: string;
  source: string;
  directory?: string;
  session_id?: string;
  rule_id?: string;
}

interface PlaceFlags {
  session: string | undefined;
  directory: string | undefined;
}

/** @param fallback the directory if neither flag is given */
function placeOf({ session, directory }: PlaceFlags, fallback?: string) {
  if (session !== undefined && directory !== undefined) {
    throw new UsageError("--session and --directory cannot be used together");
  }
  const place = session === undefined ? directory ?? fallback : undefined;
  return { session_id: session, directory: place && absolute(place) };
}

/** Runs `svc permissions list`. */
export async function list({ flags }: Input<typeof LIST>): Promise<number> {
  const place = placeOf(flags);
  const found = await withDaemon((rpc) => rpc.call("permissions.list", place));
  if (flags.json) return print(found);
  const { rules, problem, untrusted = [], trusted = [] } = found;
  const hooks = hookLines(found, "needs trust");
  for (const { directory } of trusted) console.log(visibleLine(`trusted: ${directory}`));
  for (const rule of untrusted) console.log(visibleLine(`needs trust: allow ${rule}`));
  for (const hook of hooks) console.log(visibleLine(hook));
  if (problem !== undefined) console.log(visible(problem));
  if (rules.length === 0) {
    console.log("no rules; the approval mode of a session decides");
    return 0;
  }
  const rows = (rules as Item[]).map((it) => [it.action, it.rule, whereOf(it), it.rule_id ?? ""]);
  console.log(table([["ACTION", "RULE", "WHERE", "ID"], ...rows]));
  return 0;
}

function whereOf({ source, directory, session_id }: Omit<Item, "action" | "rule">): string {
  if (source === "config") return "daemon.toml";
  if (source === "project") return "svc.permissions.toml";
  return directory ?? session_id ?? "everywhere";
}

/** Runs `svc permissions test`. */
export async function test({ flags, args }: Input<typeof TEST>): Promise<number> {
  const { tool, input } = flags;
  if (tool !== undefined && args.command !== "-") {
    throw new UsageError(
      "with --tool, the command must be -",
      "give the tool's arguments with --input",
    );
  }
  const about = tool === undefined ? { command: args.command, input } : { tool, input };
  const place = placeOf(flags, ".");
  const result = await withDaemon((rpc) => rpc.call("permissions.test", { ...about, ...place }));
  if (flags.json) return print(result);
  const { decision, decided_by, approval, rule, part, why } = result;
  const by = decided_by === "mode"
    ? `approval mode ${approval}`
    : decided_by === "always"
    ? "always allowed in this session"
    : rule === undefined
    ? ""
    : `${rule.action} ${rule.rule} (${whereOf(rule)})`;
  const rows = [["decision", decision], ["by", by], ["part", part], ["why", why]]
    .filter((row): row is string[] => row[1] !== undefined && row[1] !== "");
  console.log(table(rows));
  return 0;
}

/** Runs `svc permissions add`. */
export async function add({ flags, args }: Input<typeof ADD>): Promise<number> {
  const { session, directory, everywhere } = flags;
  if (everywhere && (session ?? directory) !== undefined) {
    throw new UsageError("--everywhere cannot be used with --session or --directory");
  }
  const place = everywhere ? {} : placeOf(flags, ".");
  const scope = everywhere ? "everywhere" : session === undefined ? "directory" : "session";
  const kept = await withDaemon((rpc) => rpc.call("permissions.add", { ...args, scope, ...place }));
  if (flags.json) return print(kept);
  console.log(visibleLine(`${kept.rule_id}  ${kept.rule}`));
  return 0;
}

/** Runs `svc permissions allow`. */
export function allow({ args, ...input }: Input<typeof ALLOW>): Promise<number> {
  return add({ ...input, args: { ...args, action: "allow" } });
}

/** Runs `svc permissions deny`. */
export function deny({ args, ...input }: Input<typeof DENY>): Promise<number> {
  return add({ ...input, args: { ...args, action: "deny" } });
}

/** Runs `svc permissions trust`. */
export async function trust({ flags, args }: Input<typeof TRUST>): Promise<number> {
  const directory = absolute(args.directory ?? ".");
  const done = await withDaemon((rpc) => rpc.call("permissions.trust", { directory }));
  if (flags.json) return print(done);
  console.log(visible(trustedText(done)));
  return 0;
}

/** Runs `svc permissions untrust`. */
export async function untrust({ flags, args }: Input<typeof UNTRUST>): Promise<number> {
  const directory = absolute(args.directory ?? ".");
  const done = await withDaemon((rpc) => rpc.call("permissions.untrust", { directory }));
  if (flags.json) return print(done);
  console.log(visibleLine(`${done.directory} is no longer trusted`));
  return 0;
}

/** Runs `svc permissions remove`. */
export async function remove({ flags, args }: Input<typeof REMOVE>): Promise<number> {
  const removed = await withDaemon((rpc) => rpc.call("permissions.remove", args));
  if (flags.json) return print(removed);
  console.log(visibleLine(`removed ${removed.rule}`));
  return 0;
}
