import type * as z from "zod";
import { realPathOrSame } from "../../os/files.ts";
import type { AddedDirectory } from "../../protocol/added_directory.ts";
import { SvcError } from "../../protocol/errors.ts";
import { checkWorkdir } from "../../session/workdir.ts";
import type { SessionServices } from "./verbs.ts";
import type { startParamsSchema } from "./schemas.ts";

type StartParams = z.output<ReturnType<typeof startParamsSchema>>;

/**
 * Starts a session, and sends its first message.
 * @throws {SvcError} validation for an unusable workdir or an unknown model
 */
export async function startSession(services: SessionServices, params: StartParams) {
  const { hub } = services;
  const models = services.models();
  const config = services.config();
  const named = params.workdir ?? config.default_workdir;
  if (named === undefined) {
    throw new SvcError("validation", "session.start: workdir is required", {
      hint: "pass workdir, or set default_workdir in daemon.toml",
    });
  }
  // The skills and rules of a project are found by its real path.
  const workdir = await realPathOrSame(named);
  const { provider, skill_pack } = params;
  if (skill_pack !== undefined) {
    if (params.trust === "untrusted") {
      throw new SvcError("validation", "session.start: an untrusted session has no skills");
    }
    (await services.library()).requireSkill(workdir, skill_pack);
  }
  const model = params.model === undefined
    ? (provider === undefined ? models.defaultId() : models.defaultIdOf(provider))
    : provider === undefined
    ? params.model
    : `${provider}/${params.model}`;
  models.check(model);
  await hub.lookIn(workdir);
  if (params.network !== undefined && params.trust === "untrusted") {
    throw new SvcError(
      "validation",
      "session.start: an untrusted session has no network of its own",
    );
  }
  const added_dirs = await addedFrom(services, workdir, params);
  const session = await hub.create({
    workdir,
    model,
    title: params.title,
    untitled: params.title === undefined && config.agent.titles && params.trust !== "untrusted"
      ? true
      : undefined,
    approval: params.approval ?? config.agent.approval,
    effort: params.effort ?? config.agent.effort,
    budget_usd: params.budget_usd,
    trust: params.trust,
    skill_pack,
    added_dirs,
    network: params.network,
    temporary: params.temporary || undefined,
  });
  if (params.prompt !== undefined) await session.send(params.prompt);
  const { id, state } = session;
  return { session_id: id, workdir: state.workdir, started_at: state.started_at };
}

/** @throws {SvcError} validation for a directory that cannot be added */
async function addedFrom(
  { home, person_home }: SessionServices,
  workdir: string,
  { add_dirs = [], trust }: StartParams,
): Promise<AddedDirectory[] | undefined> {
  if (add_dirs.length === 0) return undefined;
  if (trust === "untrusted") {
    throw new SvcError(
      "validation",
      "session.start: an untrusted session has no added directories",
    );
  }
  const { withAdded } = await import("../../session/added_dirs.ts");
  const real = await checkWorkdir(workdir, home);
  return await withAdded([], add_dirs, { workdir: real, home, person_home });
}
