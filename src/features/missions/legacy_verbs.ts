/** The legacy mission tools, with their names and fields unchanged until v2.0.0. */
import * as z from "zod";
import { mayBeModel, nothing, verbsOf } from "../../verbs/define.ts";
import { mission_id } from "./schemas.ts";
import type { MissionServices } from "./open.ts";

const defineVerb = verbsOf<MissionServices>();

export const status = () => z.enum(["running", "success", "failed", "cancelled"]);

const views = () => import("./legacy_views.ts");

export const item = () =>
  z.object({
    mission_id: mission_id(),
    status: status(),
    repo_root: z.string(),
    started_at: z.string(),
    finished_at: z.string().optional(),
    exit_code: z.int().optional(),
  });

/** A build with its progress. */
export const state = () =>
  item().extend({
    exit_code: z.int(),
    sow_path: z.string(),
    stdout_log: z.string(),
    stderr_log: z.string(),
    elapsed_sec: z.number().optional(),
    duration_sec: z.number().optional(),
    error: z.string().optional(),
  });

export const legacyMissionVerbs = [
  defineVerb({
    name: "svc_build_from_sow",
    summary:
      "Builds a project from a statement of work; svc_get_mission_status reports the progress.",
    access: "write",
    legacy: true,
    input: () =>
      z.object({
        repo_root: z.string().min(1).describe("Absolute path; created if it does not exist"),
        sow: z.string().min(1).describe("The statement of work, as JSON or YAML text"),
        runner: z.string().optional()
          .describe("<provider>/<model>, or native (the default) for the configured model"),
        resume: z.boolean().optional().describe("Resume an incomplete build of this repo_root"),
        continue_on_failure: z.boolean().optional(),
        env: z.record(z.string(), z.string()).optional()
          .describe("Environment variables for the criteria's commands"),
      }),
    output: () =>
      z.object({
        mission_id: mission_id(),
        status: status(),
        repo_root: z.string(),
        sow_path: z.string(),
        stdout_log: z.string(),
        stderr_log: z.string(),
        started_at: z.string(),
      }),
    async handle(
      { services, caller },
      { repo_root, sow, runner, resume, continue_on_failure, env },
    ) {
      const { modelOf, STATUS } = await views();
      const { mission, paths } = await (await services.missions()).create({
        workdir: repo_root,
        make_workdir: true,
        spec: sow,
        model: modelOf(runner),
        // The caller allows what it does, unless it may be a model: then the configuration decides.
        approval: mayBeModel(caller) ? undefined : "auto",
        resume,
        continue_on_failure,
        env,
      });
      const { id, workdir, created_at } = mission;
      return {
        mission_id: id,
        status: STATUS[mission.status],
        repo_root: workdir,
        ...paths,
        started_at: created_at,
      };
    },
  }),
  defineVerb({
    name: "svc_get_mission_status",
    summary: "Shows the status of a build.",
    access: "read",
    legacy: true,
    input: () => z.object({ mission_id: mission_id() }),
    output: state,
    async handle({ services }, { mission_id }) {
      const { toState } = await views();
      return toState((await services.missions()).get(mission_id));
    },
  }),
  defineVerb({
    name: "svc_get_mission_logs",
    summary: "Returns the last lines of a build's standard output and standard error.",
    access: "read",
    legacy: true,
    input: () =>
      z.object({ mission_id: mission_id(), tail_lines: z.int().min(1).max(10_000).default(200) }),
    output: () =>
      z.object({
        mission_id: mission_id(),
        status: status(),
        stdout: z.string(),
        stderr: z.string(),
      }),
    async handle({ services }, { mission_id, tail_lines }) {
      const { mission, paths } = (await services.missions()).get(mission_id);
      const { tailOf } = await import("./files.ts");
      const { STATUS } = await views();
      return {
        mission_id,
        status: STATUS[mission.status],
        stdout: tailOf(paths.stdout_log, tail_lines),
        stderr: tailOf(paths.stderr_log, tail_lines),
      };
    },
  }),
  defineVerb({
    name: "svc_cancel_mission",
    summary: "Cancels a build; a finished build does not change.",
    access: "write",
    destructive: true,
    legacy: true,
    input: () => z.object({ mission_id: mission_id() }),
    output: () => z.object({ mission_id: mission_id(), status: status(), message: z.string() }),
    async handle({ services }, { mission_id }) {
      const { STATUS } = await views();
      const missions = await services.missions();
      const before = missions.get(mission_id).mission.status;
      if (before !== "running") {
        return { mission_id, status: STATUS[before], message: "the mission has already ended" };
      }
      const { mission } = await missions.cancel(mission_id);
      return { mission_id, status: STATUS[mission.status], message: "the mission was cancelled" };
    },
  }),
  defineVerb({
    name: "svc_list_missions",
    summary: "Lists the builds, newest first.",
    access: "read",
    legacy: true,
    input: nothing,
    output: () => z.object({ missions: z.array(item()) }),
    async handle({ services }) {
      const { toItem } = await views();
      const { missions } = (await services.missions()).list({ limit: LISTED });
      return { missions: missions.map(({ mission }) => toItem(mission)) };
    },
  }),
];

/** The old list had no pages. */
const LISTED = 1000;
