/** The rules that hold for sessions, and their decisions about calls. */
import type { AddedDirectory } from "../../protocol/added_directory.ts";
import { existsSync } from "node:fs";
import { isAbsolute, join } from "@std/path";
import type { Ruling } from "../../agent/ruling.ts";
import type { Judged, Tool } from "../../agent/tool.ts";
import { isWithin } from "../../os/paths.ts";
import { SvcError } from "../../protocol/errors.ts";
import { type EventData, MAIN_LANE, type Trust } from "../../protocol/events.ts";
import { TRUST_DIRECTORY } from "../../protocol/trust.ts";
import { isWorkTitle } from "../../session/ids.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import type { Host } from "../../verbs/host.ts";
import { Opener } from "../../base/lazy.ts";
import { parsePatch, pathsOf } from "../../base/edits/patch.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { exactLine } from "../../base/visible.ts";
import type { TrustSource } from "./trust_source.ts";
import { choicesOf } from "./choices.ts";
import { PERMISSIONS } from "./config.ts";
import { type Call, decide, type Held, type Ruling as Decided } from "./decide.ts";
import type { CallPath } from "./match.ts";
import { ProjectFiles } from "./project.ts";
import { PROJECT_RULES } from "./project_rules.ts";
import { type Action, parseRule, type Rule, ruleText, subjectOf } from "./rule.ts";
import { type KeptRule, RuleStore, type Scope, type TrustedDirectory } from "./store.ts";

type PermissionHost = Pick<
  Host,
  "config" | "paths" | "ids" | "openStateDb" | "hub" | "builtin_tools"
>;

/** Where rules are looked up. */
export interface Place {
  workdir?: string;
  /** Earlier directories, whose deny rules still hold. */
  former?: readonly string[];
  session_id?: string;
  trust: Trust;
}

/** What a person trusts of a directory's own files. */
export interface OwnFiles {
  directory: string;
  /** Rules that allow. */
  allows: Rule[];
  /** A line for each hook. */
  hooks: string[];
  /** The text of the rules, then those of the other files. */
  parts: string[];
  /** All of them. */
  text: string;
}

/** The modes in which a person answers questions. */
const ASKING: readonly string[] = ["ask", "workspace"];

/** Rules that a note names. */
const MENTIONED_MAX = 5;
/** In characters. */
const SHOWN_MAX = 200;

const RULES_KEPT = `${PROJECT_RULES}, which decides what you are asked`;

export class Permissions {
  readonly #host: PermissionHost;
  readonly #store: Opener<RuleStore>;
  readonly #projects = new ProjectFiles();
  readonly #sources: readonly TrustSource[];
  /** The content that a session's person was told of. */
  readonly #mentioned = new WeakMap<Session, string>();
  #configured: { of: unknown; rules: Held[] } | undefined;

  /** @param sources may become more later */
  constructor(host: PermissionHost, sources: readonly TrustSource[]) {
    this.#host = host;
    this.#sources = sources;
    this.#store = new Opener(async () => new RuleStore(await host.openStateDb()));
  }

  /** Returns the kept rules, without creating a database. */
  async kept(): Promise<KeptRule[]> {
    return (await this.#kept()).map(({ parsed: _, ...rule }) => rule);
  }

  async #kept() {
    return (await this.#storeIfAny())?.all() ?? [];
  }

  async #storeIfAny(): Promise<RuleStore | undefined> {
    const none = this.#store.opened === undefined && !existsSync(this.#host.paths.state_db);
    return none ? undefined : await this.#store.get();
  }

  configured(): Held[] {
    const table = this.#host.config().of(PERMISSIONS);
    if (this.#configured?.of !== table) {
      const read = (action: Action): Held[] =>
        table[action].map((text) => ({ ...parseRule(action, text), source: "config" }));
      this.#configured = { of: table, rules: [...read("deny"), ...read("ask"), ...read("allow")] };
    }
    return this.#configured.rules;
  }

  project(workdir: string) {
    return this.#projects.read(workdir);
  }

  /**
   * Returns the rules of a directory's own file that hold, and those that would if a person trusted
   * the directory.
   */
  async ownRules(workdir: string): Promise<{ rules: Rule[]; untrusted: Rule[] }> {
    const { rules, text } = this.project(workdir) ?? { rules: [], text: "" };
    const allowing = rules.filter(({ action }) => action === "allow");
    if (allowing.length === 0) return { rules, untrusted: [] };
    if (await this.isTrusted(workdir, text)) return { rules, untrusted: [] };
    return { rules: rules.filter((rule) => !allowing.includes(rule)), untrusted: allowing };
  }

  /** Returns what of a directory's own needs trust; undefined if nothing does. */
  async ownOf(directory: string): Promise<OwnFiles | undefined> {
    const project = this.project(directory);
    const allows = (project?.rules ?? []).filter(({ action }) => action === "allow");
    const others = await Promise.all(this.#sources.map(({ read }) => read(directory)));
    const hooks = others.flatMap((it) => it?.lines ?? []);
    if (allows.length === 0 && hooks.length === 0) return undefined;
    const parts = [project?.text ?? "", ...others.map((it) => it?.text ?? "")];
    return { directory, allows, hooks, parts, text: JSON.stringify(parts) };
  }

  /**
   * Reports whether a person trusts what a directory's own files say now.
   *
   * @param text what the caller has read of them; they may have changed since
   */
  async isTrusted(directory: string, text?: string): Promise<boolean> {
    const own = await this.ownOf(directory);
    if (own === undefined || (text !== undefined && !own.parts.includes(text))) return false;
    return await this.#decided(own) === "trusted";
  }

  async #decided({ directory, text }: OwnFiles): Promise<"trusted" | "declined" | undefined> {
    const store = await this.#storeIfAny();
    return store?.decided(directory, await sha256Hex(text));
  }

  /**
   * Asks the person whether to trust the directory of a session, once for each content of its files.
   * Where nobody is asked anything, a note tells them instead.
   *
   * @throws the turn's reason
   */
  async askTrust(session: Session, turn: Turn): Promise<void> {
    const { approval, trust, title, workdir } = session.state;
    if (trust !== "trusted") return;
    const own = await this.ownOf(workdir);
    if (own === undefined || this.#mentioned.get(session) === own.text) return;
    if (await this.#decided(own) !== undefined) return;
    this.#mentioned.set(session, own.text);
    if (!ASKING.includes(approval) || isWorkTitle(title)) return await this.#mention(session, own);
    const { decision, message } = await session.approvals.request(
      {
        call_id: `${TRUST_DIRECTORY}_${turn.turn_id}`,
        tool: TRUST_DIRECTORY,
        args: {
          ...(own.allows.length > 0 && { allows: own.allows.map(ruleText) }),
          ...(own.hooks.length > 0 && { hooks: own.hooks }),
        },
        reason: trustText(own),
        rule: "what these files say now",
      },
      MAIN_LANE,
      turn.soft,
    ).catch((error) => {
      // Nobody has answered, so the next turn asks.
      this.#mentioned.delete(session);
      throw error;
    });
    // Who cannot decide says so, and the next session asks.
    if (decision === "deny" && message !== undefined) return;
    const now = await this.ownOf(workdir);
    if (now?.text === own.text) {
      if (decision === "deny") await this.#decline(own);
      else await this.trust(own, "question");
    } else if (decision !== "deny") {
      const text =
        "the files of this directory changed while you were asked; svc does not trust them";
      await session.emit("lane.note", {
        lane_id: MAIN_LANE,
        text,
        reason_code: "directory_untrusted",
      });
    }
  }

  async #mention(session: Session, { allows, hooks }: OwnFiles): Promise<void> {
    const what = [
      ...listed("would allow", allows.map((rule) => shown(ruleText(rule)))),
      ...listed("would run", hooks.map(shown)),
    ];
    await session.emit("lane.note", {
      lane_id: MAIN_LANE,
      text: `the files of this directory ${
        what.join(" and ")
      }; /trust lets them, until they change`,
      reason_code: "directory_untrusted",
    });
  }

  /** Returns the trusted directories, without creating a database. */
  async trusted(): Promise<TrustedDirectory[]> {
    return (await this.#storeIfAny())?.trusted() ?? [];
  }

  /**
   * Returns what a directory's own files would do if they were trusted.
   *
   * @throws {SvcError} not_found if nothing; validation if one cannot be used
   */
  async trustable(directory: string): Promise<OwnFiles> {
    const problem = await this.problemOf(directory);
    if (problem !== undefined) throw new SvcError("validation", problem);
    const own = await this.ownOf(directory);
    if (own !== undefined) return own;
    throw new SvcError("not_found", `${join(directory, PROJECT_RULES)} allows nothing`, {
      hint: "only rules that allow, and hooks, need trust; rules that deny or ask hold anyway",
    });
  }

  /** Why one of a directory's own files cannot be used. */
  async problemOf(directory: string): Promise<string | undefined> {
    const project = this.project(directory);
    if (project?.problem !== undefined) {
      return `${project.path} cannot be used: ${project.problem}`;
    }
    const others = await Promise.all(this.#sources.map(({ read }) => read(directory)));
    return others.find((it) => it?.problem !== undefined)?.problem;
  }

  /** Trusts a directory's own files as they are. */
  async trust({ directory, text }: OwnFiles, by: string): Promise<void> {
    const content_hash = await sha256Hex(text);
    const trusted_at = new Date().toISOString();
    (await this.#store.get()).trust({ directory, content_hash, trusted_at, trusted_by: by });
  }

  async #decline({ directory, text }: OwnFiles): Promise<void> {
    (await this.#store.get()).decline(directory, await sha256Hex(text));
  }

  /** @throws {SvcError} not_found for a directory that is not trusted */
  async untrust(directory: string): Promise<void> {
    if ((await this.#storeIfAny())?.untrust(directory)) return;
    throw new SvcError("not_found", `${directory} is not trusted`, {
      hint: "`svc permissions list` shows the directories that are",
    });
  }

  /** Returns the rules that hold in a place. Untrusted work gets no allow rules. */
  async rulesFor(place: Place): Promise<Held[]> {
    const { workdir, trust } = place;
    const kept = (await this.#kept()).filter((it) => holds(it, place))
      .map(({ rule_id: id, bound, parsed }): Held => ({
        ...parsed,
        source: "kept",
        id,
        ...(bound === "" ? {} : { bound }),
      }));
    const own: Held[] = workdir === undefined
      ? []
      : (await this.ownRules(workdir)).rules.map((rule) => ({ ...rule, source: "project" }));
    const all = [...this.configured(), ...kept, ...own];
    return trust === "trusted" ? all : all.filter(({ action }) => action !== "allow");
  }

  /** Decides about a call of a session. */
  async judge({ id: session_id, state }: Session, tool: Judged, args: unknown): Promise<Ruling> {
    const { workdir, added_dirs: added, trust, former_workdirs: former } = state;
    const call = callOf(tool.spec.name, args, {
      workdir,
      added,
      rule: tool.rule(args),
      foreign: tool.foreign ?? false,
    });
    const { decided, by } = await this.decide(
      call,
      { session_id, workdir, former, trust },
      tool.access,
    );
    const whole = tool.whole ?? false;
    const rule = decided.rule === undefined ? undefined : ruleText(decided.rule);
    return { action: decided.action, by, rule, choices: () => choicesOf(call, whole) };
  }

  /** Decides about a call; `by` names the rule. */
  async decide(
    call: Call,
    place: Place,
    access: Tool["access"],
  ): Promise<{ decided: Decided; by?: string }> {
    const decided = decide(call, await this.rulesFor(place));
    const { action, rule, why } = decided;
    if (action !== "deny" && access === "write" && this.#touchesRules(call)) {
      return { decided: { action: "ask", why: RULES_KEPT }, by: RULES_KEPT };
    }
    const problem = place.workdir === undefined ? undefined : this.project(place.workdir)?.problem;
    if (problem !== undefined && action !== "deny" && action !== "ask" && access !== "read") {
      // The file may have denied this.
      const why = `${PROJECT_RULES} of the project cannot be used: ${problem}`;
      return { decided: { action: "ask", why }, by: shown(why) };
    }
    if (rule === undefined) return { decided };
    return { decided, by: `${describe(rule)}${why === undefined ? "" : ` (${shown(why)})`}` };
  }

  /** Reports whether a call writes the project's rules: a model must not remove its own limits. */
  #touchesRules({ args, paths }: Call): boolean {
    if (paths === undefined) return false;
    const names = [...pathsOfCall(args), ...paths.map(({ real = "" }) => real)];
    return names.some((path) => {
      const name = slashed(path).split("/").findLast((it) => it !== "" && it !== ".") ?? "";
      return name.toLowerCase() === PROJECT_RULES;
    });
  }

  /** Keeps a rule. @throws {SvcError} validation when it is invalid. */
  async add(
    wanted: {
      action: Action;
      rule: string;
      scope: Scope;
      place: string;
      bound?: string;
      by: string;
    },
  ): Promise<KeptRule & { existed: boolean }> {
    const { action, rule, scope, place, bound = "", by } = wanted;
    const text = ruleText(checkedRule(action, rule));
    return (await this.#store.get()).add({
      rule_id: this.#host.ids.next("rule"),
      action,
      rule: text,
      bound,
      scope,
      place,
      made_at: new Date().toISOString(),
      made_by: by,
    });
  }

  /** Removes a kept rule. @throws {SvcError} not_found. */
  async remove(rule_id: string): Promise<KeptRule> {
    const there = (await this.#kept()).some((it) => it.rule_id === rule_id);
    const removed = there ? (await this.#store.get()).remove(rule_id) : undefined;
    if (removed !== undefined) return removed;
    throw new SvcError("not_found", `no rule ${rule_id} is kept`, {
      hint: "`svc permissions list` shows the rules; those of files are removed in the file",
    });
  }

  /** Keeps a person's choice. @throws {SvcError} validation when the question does not offer it. */
  async keep(
    session: Session,
    asked: Pick<EventData["approval.requested"], "tool" | "rule" | "choices">,
    { rule, scope }: { rule: string; scope: Scope },
    by: string,
  ): Promise<KeptRule & { existed: boolean }> {
    if (asked.choices?.includes(rule) !== true) {
      throw new SvcError("validation", `${shown(rule)} is not among the choices of this approval`, {
        hint: "session.get shows them",
      });
    }
    const place = scope === "session"
      ? session.id
      : scope === "directory"
      ? session.state.workdir
      : "";
    // A tool of an MCP server or a project may be different next time.
    const whole = rule === asked.tool && asked.tool !== "run_command" && asked.rule !== asked.tool;
    const bound = whole ? asked.rule : undefined;
    return await this.add({ action: "allow", rule, scope, place, bound, by });
  }

  async sessionEnded(session_id: string): Promise<void> {
    if (
      (await this.#kept()).some(({ scope, place }) => scope === "session" && place === session_id)
    ) {
      (await this.#store.get()).sessionEnded(session_id);
    }
  }

  async close(): Promise<void> {
    this.#projects[Symbol.dispose]();
    (await this.#store.opened)?.[Symbol.dispose]();
  }
}

/** @throws {SvcError} validation */
function checkedRule(action: Action, text: string): Rule {
  try {
    return parseRule(action, text);
  } catch (error) {
    const { message } = error as Error;
    throw new SvcError("validation", `rule: ${message}`, {
      details: { issues: [{ path: ["rule"], message }] },
    });
  }
}

/**
 * Reports whether a kept rule holds in a place: an allow rule in exactly its directory, a stricter
 * one also below.
 */
function holds(
  { action, scope, place }: KeptRule,
  { workdir, former = [], session_id }: Place,
): boolean {
  switch (scope) {
    case "everywhere":
      return true;
    case "session":
      return place === session_id;
    case "directory":
      if (workdir === undefined) return false;
      return action === "allow"
        ? place === workdir
        : [workdir, ...former].some((path) => isWithin(path, place));
  }
}

function describe(rule: Held): string {
  const where = { config: "daemon.toml", kept: "kept rules", project: PROJECT_RULES }[rule.source];
  return `${shown(ruleText(rule))} of ${where}`;
}

/** Names a few of many, after what they do. */
function listed(does: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length - MENTIONED_MAX;
  const few = names.slice(0, MENTIONED_MAX).join(", ");
  return [`${does} ${few}${more > 0 ? ` and ${more} more` : ""}`];
}

/** What a person is asked. */
function trustText({ directory, allows, hooks }: OwnFiles): string {
  const effects = [
    ...(allows.length > 0 ? ["its rules allow calls without asking you"] : []),
    ...(hooks.length > 0 ? ["its hooks run in the sandbox without asking you"] : []),
  ];
  return `trust ${directory}: ${effects.join(", and ")}, until the files change`;
}

function shown(text: string): string {
  return exactLine(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text);
}

/** Returns a call for {@linkcode decide}. */
export function callOf(
  tool: string,
  args: unknown,
  { workdir, added = [], rule, foreign }: {
    workdir?: string;
    added?: readonly AddedDirectory[];
    rule: string;
    foreign: boolean;
  },
): Call {
  const posix = Deno.build.os !== "windows";
  const paths = subjectOf(tool) === "path"
    ? pathsOfCall(args).map((it) => placeOf(it, workdir, added))
    : undefined;
  return { tool, args, rule, foreign, posix, paths };
}

function pathsOfCall(args: unknown): string[] {
  const { path, paths, patch } = (args ?? {}) as Record<string, unknown>;
  if (Array.isArray(paths)) return paths.map(String);
  if (typeof patch === "string") {
    try {
      return parsePatch(patch).flatMap(pathsOf);
    } catch {
      // The tool will refuse such a patch.
      return [".."];
    }
  }
  return [typeof path === "string" ? path : "."];
}

/** Locates a path in a directory. One with `..` is unknown: links decide where it leads. */
function placeOf(
  path: string,
  workdir: string | undefined,
  added: readonly AddedDirectory[] = [],
): CallPath {
  const parts = slashed(path).split("/");
  if (parts.includes("..") || path.includes("\0")) return {};
  const other = added.find((it) => isAbsolute(path) && isWithin(path, it.path));
  if (other !== undefined) return { ...placeOf(path, other.path), added: true };
  let inside = clean(parts);
  if (isAbsolute(path)) {
    if (workdir === undefined) return {};
    const root = `${clean(slashed(workdir).split("/"))}/`;
    if (!`${inside}/`.startsWith(root)) return {};
    inside = inside.slice(root.length);
  }
  return { inside, real: workdir === undefined ? inside : realOf(inside, workdir) };
}

function slashed(path: string): string {
  return Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path;
}

function clean(parts: readonly string[]): string {
  return parts.filter((it) => it !== "" && it !== ".").join("/");
}

/** Resolves links; undefined outside of the directory. */
function realOf(inside: string, workdir: string): string | undefined {
  const rest: string[] = [];
  const parts = inside === "" ? [] : inside.split("/");
  for (;;) {
    try {
      const real = Deno.realPathSync(join(workdir, ...parts));
      const root = Deno.realPathSync(workdir);
      if (!isWithin(real, root)) return undefined;
      const below = slashed(real.slice(root.length)).split("/");
      return clean([...below, ...rest]);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound) || parts.length === 0) return undefined;
      // The call may write through a dangling link.
      if (isLink(join(workdir, ...parts))) return undefined;

      rest.unshift(parts.pop()!);
    }
  }
}

function isLink(path: string): boolean {
  try {
    return Deno.lstatSync(path).isSymlink;
  } catch {
    return false;
  }
}
