/** The handlers of the permission verbs. */
import type * as z from "zod";
import { isAbsolute } from "@std/path";
import type { AddedDirectory } from "../../protocol/added_directory.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Approval, Trust } from "../../protocol/events.ts";
import { mayBeModel } from "../../verbs/define.ts";
import type { Caller } from "../../verbs/verb.ts";
import { callOf } from "./open.ts";
import { ruleText } from "./rule.ts";
import type { callTestSchema, newRuleSchema } from "./schemas.ts";
import type { KeptRule } from "./store.ts";
import type { PermissionServices } from "./verbs.ts";

type PlaceParams = Pick<z.output<ReturnType<typeof newRuleSchema>>, "session_id" | "directory">;

interface Found {
  session_id?: string;
  workdir?: string;
  added?: readonly AddedDirectory[];
  former?: readonly string[];
  trust: Trust;
  approval: Approval;
  always: readonly string[];
}

/** @throws {SvcError} validation when the directory is not one */
async function placeOf(
  { host }: PermissionServices,
  { session_id, directory }: PlaceParams,
): Promise<Found> {
  if (session_id !== undefined) {
    if (directory !== undefined) throw wrong("directory", "cannot be given with a session");
    const { state } = await host.hub.get(session_id);
    const { workdir, added_dirs: added, trust, approval, allowed: always } = state;
    const { former_workdirs: former } = state;
    return { session_id, workdir, added, former, trust, approval, always };
  }
  const { approval } = host.config().agent;
  const workdir = directory === undefined ? undefined : await realDirectory(directory);
  return { workdir, trust: "trusted", approval, always: [] };
}

async function realDirectory(directory: string): Promise<string> {
  if (directory.includes("\0")) throw wrong("directory", "contains a NUL byte");
  if (!isAbsolute(directory)) throw wrong("directory", "is not absolute: give the full path");
  try {
    const real = await Deno.realPath(directory);
    if ((await Deno.stat(real)).isDirectory) return real;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw wrong("directory", "does not exist");
    throw wrong("directory", `cannot be opened: ${messageOf(error)}`);
  }
  throw wrong("directory", "is not a directory");
}

function wrong(name: string, message: string): SvcError {
  return new SvcError("validation", `${name}: ${message}`, {
    details: { issues: [{ path: [name], message }] },
  });
}

/** Handles `permissions.list`. */
export async function listRules(services: PermissionServices, params: PlaceParams) {
  const permissions = await services.permissions();
  const kept = await permissions.kept();
  const config = permissions.configured()
    .map((rule) => ({ action: rule.action, rule: ruleText(rule), source: "config" as const }));
  if (params.session_id === undefined && params.directory === undefined) {
    const trusted = await permissions.trusted();
    return {
      rules: [...config, ...kept.map(keptItem)],
      trusted: trusted.map(({ directory, trusted_at, trusted_by }) => ({
        directory,
        trusted_at,
        trusted_by,
      })),
    };
  }
  const place = await placeOf(services, params);
  const holding = new Set((await permissions.rulesFor(place)).map(({ id }) => id));
  const { workdir } = place;
  const hooks = workdir === undefined ? [] : (await permissions.ownOf(workdir))?.hooks ?? [];
  const own = workdir === undefined ? undefined : await permissions.ownRules(workdir);
  const untrusted = own?.untrusted.map(ruleText) ?? [];
  return {
    rules: [
      ...config.filter(({ action }) => place.trust === "trusted" || action !== "allow"),
      ...kept.filter(({ rule_id }) => holding.has(rule_id)).map(keptItem),
      ...(own?.rules ?? []).map((rule) => ({
        action: rule.action,
        rule: ruleText(rule),
        source: "project" as const,
      })),
      ...place.always.map((rule) => ({
        action: "allow" as const,
        rule,
        source: "session" as const,
        session_id: place.session_id,
      })),
    ],
    problem: workdir === undefined ? undefined : await permissions.problemOf(workdir),
    ...(hooks.length > 0 && { hooks, hooks_run: await permissions.isTrusted(workdir!) }),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

/** Handles `permissions.trust`. */
export async function trustDirectory(
  services: PermissionServices,
  params: PlaceParams,
  caller: Caller,
) {
  const directory = requireDirectory(await placeOf(services, params));
  const permissions = await services.permissions();
  const own = await permissions.trustable(directory);
  if (mayBeModel(caller)) {
    throw new SvcError("permission_denied", "only a person trusts a directory", {
      hint: "the person can use /trust in `svc chat`, or `svc permissions trust`",
    });
  }
  await permissions.trust(own, caller.via);
  return { directory, allows: own.allows.map(ruleText), hooks: own.hooks };
}

/** Handles `permissions.untrust`. */
export async function untrustDirectory(services: PermissionServices, params: PlaceParams) {
  // It may be gone.
  const directory = params.directory ?? requireDirectory(await placeOf(services, params));
  await (await services.permissions()).untrust(directory);
  return { directory };
}

function requireDirectory({ workdir }: Found): string {
  if (workdir === undefined) throw wrong("directory", "is missing");
  return workdir;
}

function keptItem({ rule_id, action, rule, bound, scope, place, made_at, made_by }: KeptRule) {
  return {
    action,
    rule,
    source: "kept" as const,
    rule_id,
    scope,
    ...(scope === "directory" ? { directory: place } : {}),
    ...(scope === "session" ? { session_id: place } : {}),
    ...(bound === "" ? {} : { bound }),
    made_at,
    made_by,
  };
}

/** Handles `permissions.test`. */
export async function testCall(
  services: PermissionServices,
  { command, tool: name = "run_command", input, ...where }: z.output<
    ReturnType<typeof callTestSchema>
  >,
) {
  if (command !== undefined && name !== "run_command") {
    throw wrong("command", "is only for run_command; give the arguments of another tool as input");
  }
  const place = await placeOf(services, where);
  const { approval, trust, workdir, added } = place;
  const tools = await services.host.builtin_tools();
  const tool = tools.find(({ spec }) => spec.name === name);
  let args: unknown = command === undefined ? input ?? {} : { command, ...input };
  if (tool !== undefined) {
    const parsed = tool.parse(args);
    if (parsed.problem !== undefined) throw wrong("input", parsed.problem);
    args = parsed.args;
    // The patch names the files.
    if (name === "apply_patch") args = await tool.prepare(args, workdir ?? "/", "");
  }
  // Some rules depend on a real call.
  const rule = attempt(() => tool?.rule(args)) ?? name;
  const permissions = await services.permissions();
  const access = tool?.access ?? "execute";
  const call = callOf(name, args, { workdir, added, rule, foreign: false });
  const { decided } = await permissions.decide(call, place, access);
  const details = {
    approval,
    rule: decided.rule && {
      action: decided.rule.action,
      rule: ruleText(decided.rule),
      source: decided.rule.source,
      ...(decided.rule.id === undefined ? {} : { rule_id: decided.rule.id }),
    },
    part: decided.part,
    why: decided.why,
  };
  const by_rule = { decided_by: "rule" as const, ...details };
  const by_mode = { decided_by: "mode" as const, ...details };
  const risk = workdir === undefined ? undefined : tool?.risk?.(args, workdir);
  const beyond = tool?.beyond?.(args);
  const special = beyond === undefined ? risk?.runner : `it runs ${beyond}`;
  if (decided.action === "deny") return { decision: "deny" as const, ...by_rule };
  if (approval === "read_only" && access !== "read") {
    const why = `the session is read_only and ${name} changes something`;
    return { decision: "deny" as const, ...by_mode, why };
  }
  if (decided.action === "ask") {
    return { decision: trust === "trusted" ? "ask" as const : "deny" as const, ...by_rule };
  }
  if (access === "read") return { decision: "allow" as const, ...by_mode };
  if (approval === "auto" && (beyond === undefined && !asksInAuto())) {
    return { decision: "allow" as const, ...by_mode };
  }
  if (special !== undefined) return { decision: "ask" as const, ...by_mode, why: special };
  if (decided.action === "allow") return { decision: "allow" as const, ...by_rule };
  if (place.always.includes(rule)) {
    return { decision: "allow" as const, ...details, decided_by: "always" as const };
  }
  return { decision: "ask" as const, ...by_mode };

  function asksInAuto(): boolean {
    if (workdir === undefined) return false;
    return attempt(() => tool?.asks_in_auto(args, workdir)) ?? false;
  }
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Handles `permissions.add`. */
export async function addRule(
  services: PermissionServices,
  { action, rule, scope, session_id, directory }: z.output<ReturnType<typeof newRuleSchema>>,
  by: string,
) {
  const permissions = await services.permissions();
  const place = await keptPlace();
  const kept = await permissions.add({ action, rule, scope, place, by });
  return { rule_id: kept.rule_id, rule: kept.rule };

  async function keptPlace(): Promise<string> {
    if (scope === "everywhere") {
      if (session_id ?? directory) throw wrong("scope", "is everywhere, so no place can be given");
      return "";
    }
    const given = { session_id, directory };
    if (scope === "session") {
      if (session_id === undefined) throw wrong("session_id", "is missing");
      const { state } = await services.host.hub.get(session_id);
      if (state.state === "ended") throw new SvcError("ended", `session ${session_id} has ended`);
      return session_id;
    }
    const { workdir } = await placeOf(services, given);
    if (workdir === undefined) throw wrong("directory", "is missing");
    return workdir;
  }
}
