/** Accepts a mission: checks the request, finds or starts its session, and records it. */
import { isAbsolute } from "@std/path";
import { monotonicUlid } from "@std/ulid";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import type { Session } from "../../session/session.ts";
import type { WorkSession, WorkSessionOptions } from "../../session/work_session.ts";
import type { CheckRunner } from "./checks.ts";
import type { Approval } from "../../protocol/events.ts";
import type { Mission, MissionApproval, MissionBranch, MissionOptions } from "./mission.ts";
import { type MissionSpec, readSpec } from "./spec.ts";
import type { MissionStore } from "./store.ts";
import type { Workspace } from "./workspace.ts";
import type { RunContext } from "./job.ts";

/** What missions need from the daemon. */
export interface MissionParts {
  store: MissionStore;
  log: Log;
  /** The directory of missions' files. */
  dir: string;
  new_lane_id(): string;
  /** Finds a session. @throws {SvcError} not_found. */
  session(id: string): Promise<Session>;
  /** Starts the session that shows a mission. @throws {SvcError} validation. */
  startParent(
    options: { workdir: string; title: string; model: string; approval: MissionApproval },
  ): Promise<Session>;
  endParent(session_id: string): Promise<void>;
  /** Reports in the session what a mission writes, until the returned function is called. */
  watchWrites(session: Session): Promise<() => Promise<void>>;
  startSession(options: WorkSessionOptions): Promise<WorkSession>;
  adoptSession: RunContext["adoptSession"];
  openChecks(path: string, env: Record<string, string> | undefined): CheckRunner;
  /** The branch of a mission in a workdir that can have worktrees. */
  branchFor(workdir: string, mission_id: string): Promise<MissionBranch | undefined>;
  gitWorkspace(mission: Mission, branch: MissionBranch): Promise<Workspace>;
  /**
   * Warms the common prefix of a model's calls, if there is one.
   *
   * @throws {ModelError} if the call fails; the signal's reason, or when it takes too long.
   */
  prewarm: RunContext["prewarm"];
  /** Checks that a model id leads to a model. @throws {SvcError} validation. */
  checkModel(id: string): void;
  defaultModel(): string;
  defaultApproval(): Approval;
}

export interface CreateMission extends Partial<Omit<MissionOptions, "approval">> {
  /** The session it belongs to; default: a new one in `workdir`. */
  session_id?: string;
  workdir?: string;
  /** Creates the workdir if it does not exist. */
  make_workdir?: boolean;
  /** An object, or its JSON or YAML text. */
  spec: unknown;
  approval?: MissionApproval;
  /** Continue the newest mission of this spec's id in the workdir, if it has not completed. */
  resume?: boolean;
}

/** A checked request, with the session that shows it. */
export interface Admitted {
  spec: MissionSpec;
  options: MissionOptions;
  parent: Session;
  owns_session: boolean;
  resume: boolean;
}

/** Default number of concurrent tasks. */
const PARALLEL = 3;
const TITLE_MAX = 200;

/**
 * Checks a request, and finds or starts its session.
 *
 * @throws {SvcError} validation for an unusable spec, workdir or model; not_found or ended for the
 * session; conflict if that may only read.
 */
export async function admit(parts: MissionParts, request: CreateMission): Promise<Admitted> {
  const spec = readSpec(request.spec);
  const { session_id, workdir, resume = false } = request;
  const given = session_id === undefined ? undefined : await givenParent(parts, session_id);
  const options = optionsOf(parts, request, given);
  if (given !== undefined) return { spec, options, parent: given, owns_session: false, resume };
  if (workdir === undefined) {
    throw new SvcError("validation", "a mission needs session_id or workdir");
  }
  if (request.make_workdir) await makeWorkdir(workdir);
  const parent = await startOwnParent(parts, { workdir, spec, options });
  return { spec, options, parent, owns_session: true, resume };
}

/** @throws {SvcError} validation. */
async function makeWorkdir(path: string): Promise<void> {
  if (!isAbsolute(path)) {
    throw new SvcError("validation", `workdir ${JSON.stringify(path)} is not absolute`, {
      hint: "give the full path",
    });
  }
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (cause) {
    throw new SvcError("validation", `cannot create workdir ${path}: ${messageOf(cause)}`);
  }
}

async function givenParent(parts: MissionParts, session_id: string): Promise<Session> {
  const session = await parts.session(session_id);
  if (session.final) throw new SvcError("ended", `session ${session_id} has ended`);
  if (session.state.approval === "read_only") {
    throw new SvcError(
      "conflict",
      `session ${session_id} is read_only, but a mission writes files`,
      {
        hint: "use a workdir instead, or a session with another approval mode",
      },
    );
  }
  return session;
}

function optionsOf(
  parts: MissionParts,
  request: CreateMission,
  parent: Session | undefined,
): MissionOptions {
  const { parallel = PARALLEL, continue_on_failure = false, budget_usd, env } = request;
  const model = request.model ?? parent?.state.model ?? parts.defaultModel();
  parts.checkModel(model);
  const inherited = parent?.state.approval ?? parts.defaultApproval();
  const approval = request.approval ?? (inherited === "read_only" ? "ask" : inherited);
  return { model, approval, continue_on_failure, parallel, budget_usd, env };
}

/** Starts a session that shows one mission and ends with it. @throws {SvcError} validation. */
export async function startOwnParent(
  parts: MissionParts,
  { workdir, spec, options }: Pick<Mission, "workdir" | "spec" | "options">,
): Promise<Session> {
  const title = `mission ${spec.name}`.slice(0, TITLE_MAX);
  const { model, approval } = options;
  return await parts.startParent({ workdir, title, model, approval });
}

/**
 * Records a mission, or resumes an earlier one.
 *
 * @param running the ids of the running missions.
 * @throws {SvcError} conflict if the workdir is taken, or the earlier mission cannot go on.
 */
export async function record(
  { store, branchFor }: MissionParts,
  { spec, options, parent, owns_session, resume }: Admitted,
  running: readonly string[],
): Promise<{ mission: Mission; resumed: boolean }> {
  const { workdir } = parent.state;
  const session = { session_id: parent.id, owns_session };
  const earlier = resume ? store.newestOf(workdir, spec.id) : undefined;
  if (earlier !== undefined && earlier.status !== "completed") {
    requireSame(earlier, spec);
    store.reopen(earlier.id, session, options);
    return { mission: store.get(earlier.id)!, resumed: true };
  }
  const id = `m-${monotonicUlid()}`;
  const branch = await branchFor(workdir, id);
  if (branch === undefined) requireFree(workdir, running.map((other) => store.get(other)));
  const mission: Mission = {
    id,
    ...session,
    workdir,
    spec,
    options,
    status: "running",
    created_at: new Date().toISOString(),
    branch,
    cost_usd: 0,
  };
  store.insert(mission);
  return { mission, resumed: false };
}

function requireSame({ id, status, spec: before }: Mission, spec: MissionSpec): void {
  if (status === "running") throw new SvcError("conflict", `mission ${id} is already running`);
  if (JSON.stringify(before) === JSON.stringify(spec)) return;
  throw new SvcError("conflict", `mission ${id} cannot be resumed with another spec`, {
    hint: "pass the original spec, or start a new mission without resume",
  });
}

/** Without worktrees two missions would disturb each other. */
function requireFree(workdir: string, running: readonly (Mission | undefined)[]): void {
  const other = running.find((mission) => mission?.workdir === workdir);
  if (other === undefined) return;
  throw new SvcError("conflict", `mission ${other.id} is already running in ${workdir}`, {
    hint:
      "wait until it has finished, or cancel it; several missions can run at once only in a git repository",
  });
}
