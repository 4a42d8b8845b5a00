/**
 * Tells models where they work. What is told is recorded with its text, so that the same
 * conversation becomes the same requests after a restart; it is told again only when it has changed.
 */
import { realPathIfAny } from "../../os/files.ts";
import type { Log } from "../../os/log.ts";
import type { Checkout } from "../../jail/git_around.ts";
import { findShell, type Sandbox } from "../../jail/sandbox.ts";
import { messageOf } from "../../protocol/errors.ts";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import type { EventData } from "../../protocol/events.ts";
import type { SessionState } from "../../session/session_state.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import { type Facts, factsOf, factsText } from "./facts.ts";
import { branchIn, findRepository, type Repository } from "./repository.ts";
import { type RulesFound, RulesReader } from "./rules.ts";
import { deeperPlaces, hasRules, touchedDirectories } from "./rules_places.ts";
import { rulesText } from "./rules_text.ts";

export interface TellerParts {
  /** Whether a model is the embedded one, which reads nothing but instructions. */
  isBuiltin(model: string): boolean;
  sandbox(): Promise<Sandbox>;
  /** Whether commands reach the network now; "allowed" for some hosts only. */
  network(): boolean | "allowed";
  /** Home of svc, where the person's own rules are. */
  home: string;
  /** The skills of a session, in words; undefined if it has none. */
  skills(session: Session): string | undefined;
  /** The instructions of the skill that a session was started with. */
  skill(session: Session): string | undefined;
  /** What no tool of a session may see. */
  hidden(session: Session): string[];
  /** What commands of the person's own sessions may know of the checkout around a directory. */
  checkout(workdir: string): Checkout;
  /** User of this process; undefined where files have no owner. */
  uid: number | undefined;
  now(): Date;
  log: Log;
}

/** The first model call of a turn waits no longer for git. */
const STATUS_MS = 500;

/** Disposing of it closes the C library. */
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
   * Records what a turn's model is to be told before its first call.
   *
   * @throws what the session says when nothing can be recorded.
   */
  async tell(session: Session, turn: Turn): Promise<void> {
    const { state } = session;
    if (this.#parts.isBuiltin(state.model)) return;
    const sandbox = await this.#parts.sandbox();
    const repository = findRepository(state.workdir, this.#parts.uid);
    const facts = this.#facts(session, sandbox, repository);
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
   * Records the rules of directories that a step's calls were about, before the next model call.
   *
   * @param paths as the model gave them.
   * @throws what the session says when nothing can be recorded.
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

  /** What is to be recorded of the rules; undefined when the model knows it all. */
  #rulesOf(
    session: Session,
    { turn_id }: Turn,
    repository: Repository | undefined,
    more: readonly string[] = [],
  ): EventData["rules.loaded"] | undefined {
    const { trust, workdir, rules: told } = session.state;
    // Work for others follows neither the person's rules nor what lies in their directories.
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

  #facts(session: Session, sandbox: Sandbox, repository: Repository | undefined): Facts {
    const { workdir, model, approval, trust } = session.state;
    const checkout = trust === "trusted" ? this.#parts.checkout(workdir) : undefined;
    const around = sandbox.around({ workdir, hidden: [], network: false, checkout });
    return factsOf({
      sees_checkout: around?.shown !== undefined,
      workdir,
      repository: repository?.root,
      branch: repository === undefined ? "none" : branchIn(repository, this.#untrusted),
      now: this.#parts.now(),
      system: this.#system,
      shell: Deno.build.os === "windows" ? "cmd.exe" : findShell(),
      model,
      approval,
      trust,
      confined: sandbox.kind !== "none",
      network: networkIn(sandbox, this.#parts.network()),
      skills: this.#parts.skills(session),
      skill: this.#parts.skill(session),
    });
  }

  /** What git says of the working tree; a git that is slow or fails holds nothing up. */
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

/** What of the rules differs from what was told; undefined when nothing does. */
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

/** What commands reach: without what forwards to a proxy, no host is reached. */
function networkIn({ kind, forwards }: Sandbox, network: boolean | "allowed"): boolean | "allowed" {
  return network === "allowed" && kind !== "none" && !forwards ? false : network;
}
