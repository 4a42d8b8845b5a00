/** Suggests values for arguments, mainly ids. */
import type { CompleteRequest, CompleteResult } from "@modelcontextprotocol/sdk/types";
import type { SessionItem } from "../../session/session_item.ts";
import { hasArgument } from "./prompts.ts";
import { type Reader, resourceTemplates, runVerb } from "./resources.ts";

/** The most values in an answer (MCP, completion/complete). */
const VALUES_MAX = 100;

type Known = Readonly<Record<string, string>>;
type Source = (reader: Reader, known: Known) => Promise<string[]>;

/** The sources of an argument's values, by its name. */
const SOURCES: Readonly<Record<string, Source>> = {
  session_id: async (reader) => (await sessions(reader)).map(({ id }) => id),
  workdir: async (reader) => [...new Set((await sessions(reader)).map(({ workdir }) => workdir))],
  model: async (reader) => {
    const { default_model } = await runVerb("daemon.info", {}, reader) as {
      default_model: string;
    };
    return [default_model];
  },
  lane_id: async (reader, { session_id }) => {
    if (!session_id) return [];
    const { lanes } = await runVerb("lanes.list", { session_id }, reader) as {
      lanes: { lane_id: string }[];
    };
    return lanes.map(({ lane_id }) => lane_id);
  },
  approval_id: async (reader, { session_id }) => {
    if (!session_id) return [];
    const { pending_approvals } = await runVerb("session.get", { session_id }, reader) as {
      pending_approvals: { approval_id: string }[];
    };
    return pending_approvals.map(({ approval_id }) => approval_id);
  },
  mission_id: async (reader) => {
    const { missions } = await runVerb("mission.list", {}, reader) as {
      missions: { mission_id: string }[];
    };
    return missions.map(({ mission_id }) => mission_id);
  },
  task_id: async (reader) => {
    const { tasks } = await runVerb("task.list", {}, reader) as { tasks: { id: string }[] };
    return tasks.map(({ id }) => id);
  },
};

/**
 * Suggests values, beginning with what was typed, for an argument of a prompt or a resource
 * template. Unknown prompts, templates and arguments get no suggestions rather than an error.
 */
export async function complete(
  { ref, argument, context }: CompleteRequest["params"],
  reader: Reader,
): Promise<CompleteResult> {
  const known = ref.type === "ref/prompt"
    ? hasArgument(ref.name, argument.name)
    : resourceTemplates(reader).some(({ uriTemplate }) =>
      uriTemplate === ref.uri && uriTemplate.includes(argument.name)
    );
  const source = known ? SOURCES[argument.name] : undefined;
  const all = await source?.(reader, context?.arguments ?? {}) ?? [];
  const fitting = all.filter((value) => value.startsWith(argument.value));
  return {
    completion: {
      values: fitting.slice(0, VALUES_MAX),
      total: fitting.length,
      hasMore: fitting.length > VALUES_MAX,
    },
  };
}

/** Returns all sessions, newest first. */
async function sessions(reader: Reader): Promise<SessionItem[]> {
  const { sessions } = await runVerb("session.list", { include_ended: true }, reader) as {
    sessions: SessionItem[];
  };
  return sessions.toReversed();
}
