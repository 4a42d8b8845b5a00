/** How a session is started. */
import { SvcError } from "../../protocol/errors.ts";
import type { Approval, Trust } from "../../protocol/events.ts";
import type { SessionServices } from "./verbs.ts";

/** The parameters of `session.start`. */
export interface StartParams {
  workdir?: string;
  prompt?: string;
  model?: string;
  provider?: string;
  skill_pack?: string;
  budget_usd?: number;
  approval?: Approval;
  trust?: Trust;
  title?: string;
}

/**
 * Starts a session, with its first message if there is one.
 *
 * @throws {SvcError} validation when the workdir will not do or the model is unknown.
 */
export async function startSession(services: SessionServices, params: StartParams) {
  const { hub } = services;
  const models = services.models();
  const config = services.config();
  const workdir = params.workdir ?? config.default_workdir;
  if (workdir === undefined) {
    throw new SvcError("validation", "session.start: workdir is required", {
      hint: "pass workdir, or set default_workdir in daemon.toml",
    });
  }
  if (params.skill_pack !== undefined) {
    throw new SvcError("not_implemented", "session.start: skill packs are not supported yet");
  }
  const { provider } = params;
  const model = params.model === undefined
    ? (provider === undefined ? models.defaultId() : models.defaultIdOf(provider))
    : provider === undefined
    ? params.model
    : `${provider}/${params.model}`;
  models.check(model);
  const session = await hub.create({
    workdir,
    model,
    title: params.title,
    approval: params.approval ?? config.agent.approval,
    budget_usd: params.budget_usd,
    trust: params.trust,
  });
  if (params.prompt !== undefined) await session.send(params.prompt);
  const { id, state } = session;
  return { session_id: id, workdir: state.workdir, started_at: state.started_at };
}
