import * as z from "zod";
import type { MissionView } from "./engine.ts";
import { approval } from "../../protocol/schemas/session.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { MissionServices } from "./open.ts";
import {
  mission_id,
  missionListSchema,
  missionLogEntrySchema,
  SPEC_TEXT_MAX,
  specTextSchema,
  status,
} from "./schemas.ts";

const defineVerb = verbsOf<MissionServices>();

const check = () => ({
  command: z.string().optional(),
  file_exists: z.string().optional(),
  content_match: z.object({ file: z.string(), pattern: z.string() }).optional(),
});

const summary = () =>
  z.object({
    mission_id: mission_id(),
    name: z.string(),
    status: status(),
    session_id: session_id(),
    workdir: z.string(),
    branch: z.string().optional().describe("Holds the work until the mission has passed"),
    commit: z.string().optional().describe(
      "Whether the result was merged into the branch of the workdir",
    ),
    error: z.string().optional(),
    created_at: z.string(),
    completed_at: z.string().optional(),
    cost_usd: z.number(),
    budget_usd: z.number().optional(),
    tasks_total: z.int(),
    tasks_completed: z.int(),
    criteria_total: z.int(),
    criteria_passed: z.int().describe("Includes soft passes"),
  });

const task = () =>
  z.object({
    id: z.string(),
    description: z.string(),
    dependencies: z.array(z.string()),
    files: z.array(z.string()),
    status: z.enum(["pending", "running", "completed", "failed", "cancelled", "skipped"]),
    attempts: z.int(),
    session_id: session_id().optional(),
    commit: z.string().optional(),
    error: z.string().optional(),
    started_at: z.string().optional(),
    completed_at: z.string().optional(),
  });

const criterion = () =>
  z.object({
    id: z.string(),
    description: z.string(),
    ...check(),
    status: z.enum(["pending", "running", "passed", "soft_passed", "failed"]),
    tier: z.enum(["T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8"]).optional(),
    failure_class: z.enum(["code_bug", "ac_bug", "environment"]).optional(),
    evidence_ref: z.string().optional().describe("<mission_id>#<seq of the line in mission.logs>"),
    rewritten: z.object(check()).optional().describe("The check that replaced the criterion's own"),
  });

const mission = () =>
  summary().extend({
    sessions: z.array(z.object({
      id: z.string(),
      title: z.string(),
      tasks: z.array(task()),
      acceptance_criteria: z.array(criterion()),
    })),
  });

export const missionVerbs = [
  defineVerb({
    name: "mission.create",
    summary: "Starts a mission: tasks for agent sessions, gated by acceptance criteria.",
    access: "write",
    replaces: "svc_build_from_sow",
    input: () =>
      z.object({
        session_id: session_id().optional()
          .describe("The session that shows the mission's lanes and events; by default, a new one"),
        workdir: z.string().optional().describe("Absolute path; required without session_id"),
        spec: z.union([z.string(), z.record(z.string(), z.unknown())])
          .describe("The statement of work: an object, or its JSON or YAML text"),
        model: z.string().optional().describe(
          "<provider>/<model>; by default, the session's model",
        ),
        approval: approval().exclude(["read_only"]).optional()
          .describe(
            "Whether writes, commands, rewritten checks and soft passes need approval; " +
              "by default, as in the session that starts the mission",
          ),
        continue_on_failure: z.boolean().optional().describe(
          "Continue with the remaining tasks after a failure",
        ),
        parallel: z.int().min(1).max(16).optional().describe(
          "Number of concurrent tasks; 3 by default",
        ),
        budget_usd: z.number().positive().optional(),
        env: z.record(z.string(), z.string()).optional()
          .describe("Environment variables for the criteria's commands"),
        resume: z.boolean().optional()
          .describe("Resume the newest failed mission with this spec in the workdir"),
      }).refine((it) => (it.session_id === undefined) !== (it.workdir === undefined), {
        message: "pass either session_id or workdir",
      }),
    output: summary,
    async handle({ services }, params) {
      return toSummary(await (await services.missions()).create(params));
    },
  }),
  defineVerb({
    name: "mission.read_spec",
    summary: "Reads a statement of work without starting it, and reports what is wrong with it.",
    access: "read",
    input: () =>
      z.object({
        spec: z.string().max(SPEC_TEXT_MAX).describe("The statement of work as JSON or YAML"),
      }),
    output: specTextSchema,
    async handle(_, { spec }) {
      return (await import("./spec_text.ts")).readText(spec);
    },
  }),
  defineVerb({
    name: "mission.list",
    summary: "Lists the missions, newest first.",
    access: "read",
    replaces: "svc_list_missions",
    input: missionListSchema,
    output: () => z.object({ missions: z.array(summary()), next_cursor: z.string().optional() }),
    async handle({ services }, params) {
      const { missions, next_cursor } = (await services.missions()).list(params);
      return { missions: missions.map(toSummary), next_cursor };
    },
  }),
  defineVerb({
    name: "mission.get",
    summary: "Shows a mission, its tasks and its criteria.",
    access: "read",
    replaces: "svc_get_mission_status",
    input: () => z.object({ mission_id: mission_id() }),
    output: mission,
    async handle({ services }, { mission_id }) {
      return toMission((await services.missions()).get(mission_id));
    },
  }),
  defineVerb({
    name: "mission.cancel",
    summary: "Cancels a mission; returns when all its work has stopped.",
    access: "write",
    destructive: true,
    replaces: "svc_cancel_mission",
    input: () => z.object({ mission_id: mission_id() }),
    output: summary,
    async handle({ services }, { mission_id }) {
      return toSummary(await (await services.missions()).cancel(mission_id));
    },
  }),
  defineVerb({
    name: "mission.logs",
    summary: "Shows a mission's log: its steps and the output of its checks.",
    access: "read",
    large: true,
    replaces: "svc_get_mission_logs",
    input: () =>
      z.object({
        mission_id: mission_id(),
        since_seq: z.int().min(0).optional().describe(
          "Returns the lines after this one; by default, the newest lines",
        ),
        limit: z.int().min(1).max(1000).default(200),
      }),
    output: () => z.object({ entries: z.array(missionLogEntrySchema()) }),
    async handle({ services }, { mission_id, ...range }) {
      return { entries: (await services.missions()).logs(mission_id, range) };
    },
  }),
];

function toSummary(
  { mission, tasks, criteria }: MissionView,
): z.output<ReturnType<typeof summary>> {
  const { id, spec, options, branch, owns_session: _, ...rest } = mission;
  return {
    ...rest,
    mission_id: id,
    name: spec.name,
    branch: mission.status === "completed" ? undefined : branch?.name,
    budget_usd: options.budget_usd,
    tasks_total: tasks.size,
    tasks_completed: [...tasks.values()].filter((it) => it.status === "completed").length,
    criteria_total: criteria.size,
    criteria_passed:
      [...criteria.values()].filter(({ status }) => status === "passed" || status === "soft_passed")
        .length,
  };
}

function toMission(view: MissionView): z.output<ReturnType<typeof mission>> {
  const { mission: { spec }, tasks, criteria } = view;
  return {
    ...toSummary(view),
    sessions: spec.sessions.map(({ id, title, tasks: specified, acceptance_criteria }) => ({
      id,
      title,
      tasks: specified.map((it) => {
        const { task_id: _, ...state } = tasks.get(it.id)!;
        return { ...it, ...state };
      }),
      acceptance_criteria: acceptance_criteria.map((it) => {
        const { ac_id: _, ...state } = criteria.get(it.id)!;
        return { ...it, ...state };
      }),
    })),
  };
}
