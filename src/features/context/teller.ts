/**
 * Tells models where they work. The text is recorded, so that a conversation becomes the same
 * requests after a restart, and repeated only after a change.
 */
import { realPathIfAny } from "../../os/files.ts";
import type { Log } from "../../os/log.ts";
import type { Checkout } from "../../jail/git_around.ts";
import { findShell, type Granted, type Sandbox } from "../../jail/sandbox.ts";
import { gitText, grantsText } from "../../jail/grants.ts";
import { messageOf } from "../../protocol/errors.ts";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import type { EventData } from "../../protocol/events.ts";
import { isWorkTitle } from "../../session/ids.ts";
import type { SessionState } from "../../session/session_state.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import { type Facts, factsOf, factsText } from "./facts.ts";
import { branchIn, findRepository, type Repository } from "./repository.ts";
import { type RulesFound, RulesReader } from "./rules.ts";
import { deeperPlaces, hasRules, touchedDirectories } from "./rules_places.ts";
import { rulesText } from "./rules_text.ts";

interface TellerParts {
  /** The built-in model reads nothing but instructions. */
  isBuiltin(model: string): boolean;
  sandbox(): Promise<Sandbox>;
  /** "allowed" means some hosts only. */
  networkOf(session: SessionState): boolean | "allowed";
  /** svc's home, with the person's rules. */
  home: string;
  /** In words; undefined without skills. */
  skills(session: Session): string | undefined;
  /** The instructions of the session's initial skill. */
  skill(session: Session): string | undefined;
  /** Hidden from the session's tools. */
  hidden(session: Session): string[];
  /** What commands of trusted sessions may see of the checkout around a directory. */
  checkout(workdir: string): Checkout;
  /** What the person grants to commands of a session. */
  granted(session_id: string): Promise<Granted>;
  /** Of this process; undefined on systems without file owners. */
  uid: number | undefined;
  now(): Date;
  log: Log;
}

/** The longest that a turn's first model call waits for git. */
const STATUS_MS = 500;

/** Disposing closes the C library. */
export class Teller implements Disposable {
  readonly #parts: TellerParts;
  readonly #untrusted = new UntrustedReader();
  readonly #rules = new RulesReader(this.#untrusted);
  readonly #system = `${
    SYSTEMS[Deno.build.os] ?? Deno.build.os
  } ${Deno.osRelease()} (${Deno.build.arch})`;

  constructor(parts: TellerParts) {
    this.#parts = parts;
  }

  /**
   * Records what a turn's model must know before its first call. @throws as {@linkcode
   * Session.emit}
   */
  async tell(session: Session, turn: Turn): Promise<void> {
    const { state } = session;
    if (this.#parts.isBuiltin(state.model)) return;
    const sandbox = await this.#parts.sandbox();
    const repository = findRepository(state.workdir, this.#parts.uid);
    const granted = await this.#parts.granted(session.id);
    const facts = this.#facts(session, sandbox, repository, granted);
    const rules = this.#rulesOf(session, turn, repository);
    const moved = facts.repository !== state.facts.repository ||
      facts.branch !== state.facts.branch;
    const status = moved && repository !== undefined
      ? await this.#status(session, turn, sandbox, repository)
      : [];
    const told = factsText(facts, state.facts, status);
    await Promise.all([
      told && session.emit("context.told", { turn_id: turn.turn_id, facts, ...told }),
      rules && session.emit("rules.loaded", rules),
    ]);
  }

  /**
   * Records the rules of directories that a step used, before the next model call.
   * @param paths as the model wrote them
   * @throws as {@linkcode Session.emit}
   */
  async touched(session: Session, turn: Turn, paths: readonly string[]): Promise<void> {
    const { workdir, model } = session.state;
    if (this.#parts.isBuiltin(model)) return;
    const places = touchedDirectories(paths, workdir).filter(hasRules);
    if (places.length === 0) return;
    const repository = findRepository(workdir, this.#parts.uid);
    const rules = this.#rulesOf(session, turn, repository, places);
    if (rules !== undefined) await session.emit("rules.loaded", rules);
  }

  [Symbol.dispose](): void {
    this.#untrusted[Symbol.dispose]();
  }

  /** Returns new rules; undefined without news. */
  #rulesOf(
    session: Session,
    { turn_id }: Turn,
    repository: Repository | undefined,
    more: readonly string[] = [],
  ): EventData["rules.loaded"] | undefined {
    const { trust, workdir, rules: told } = session.state;
    // Untrusted work follows neither the person's rules nor those in their directories.
    if (trust !== "trusted") return undefined;
    const found = this.#rules.read({
      home: realPathIfAny(this.#parts.home),
      root: repository?.root ?? workdir,
      workdir,
      deeper: deeperPlaces(told, workdir, more),
      hidden: this.#parts.hidden(session),
    });
    const news = newsOf(found, told);
    if (news === undefined) return undefined;
    const files = news.files.map(({ text: _text, below: _below, ...file }) => file);
    const { skipped, removed } = news;
    return { turn_id, files, skipped, removed, ...rulesText(news, told.files) };
  }

  #facts(
    session: Session,
    sandbox: Sandbox,
    repository: Repository | undefined,
    { env, grants = [], git_hosts = [] }: Granted,
  ): Facts {
    const { workdir, added_dirs, model, approval, trust, title } = session.state;
    const checkout = trust === "trusted" ? this.#parts.checkout(workdir) : undefined;
    const around = sandbox.around({ workdir, hidden: [], network: false, checkout });
    const has_git = git_hosts.length > 0 && sandbox.forwards && !isWorkTitle(title);
    return factsOf({
      sees_checkout: around?.shown !== undefined,
      workdir,
      added: added_dirs,
      repository: repository?.root,
      branch: repository === undefined ? "none" : branchIn(repository, this.#untrusted),
      now: this.#parts.now(),
      system: this.#system,
      shell: Deno.build.os === "windows" ? "cmd.exe" : findShell(),
      model,
      approval,
      trust,
      confined: sandbox.kind,
      network: networkIn(sandbox, this.#parts.networkOf(session.state)),
      granted: [
        ...(grants.length > 0 ? [grantsText(grants, sandbox.granted(grants, { env }).there)] : []),
        ...(has_git ? [gitText(git_hosts)] : []),
      ].join("; ") || undefined,
      skills: this.#parts.skills(session),
      skill: this.#parts.skill(session),
    });
  }

  /** A git that is slow or fails does not delay the turn. */
  async #status(
    session: Session,
    turn: Turn,
    sandbox: Sandbox,
    repository: Repository,
  ): Promise<string[]> {
    const late = AbortSignal.timeout(STATUS_MS);
    const unknown = ["not known, as git has not answered in time"];
    try {
      const { shortStatus } = await import("./git_status.ts");
      const signal = AbortSignal.any([late, turn.soft]);
      return await shortStatus(repository, sandbox, signal) ??
        ["not known; ask git, as this is a linked worktree or a submodule"];
    } catch (error) {
      if (late.aborted || turn.soft.aborted) return unknown;
      this.#parts.log.info("git does not tell the status of a session's directory", {
        session_id: session.id,
        error: messageOf(error),
      });
      return ["not known, as git has failed"];
    }
  }
}

/** Returns the difference to the rules told so far; undefined without one. */
function newsOf(
  { files, skipped }: RulesFound,
  told: SessionState["rules"],
): RulesFound & { removed: string[] } | undefined {
  const known = new Map(told.files.map(({ path, sha256 }) => [path, sha256]));
  const changed = files.filter(({ path, sha256 }) => known.get(path) !== sha256);
  const there = new Set(files.map(({ path }) => path));
  const removed = told.files.flatMap(({ path }) => there.has(path) ? [] : [path]);
  const same = JSON.stringify(skipped) === JSON.stringify(told.skipped);
  if (changed.length === 0 && removed.length === 0 && same) return undefined;
  return { files: changed, skipped, removed };
}

const SYSTEMS: Record<string, string> = { linux: "Linux", darwin: "macOS", windows: "Windows" };

/** Without a forwarder to the proxy, commands reach no host. */
function networkIn({ kind, forwards }: Sandbox, network: boolean | "allowed"): boolean | "allowed" {
  return network === "allowed" && kind !== "none" && !forwards ? false : network;
}
