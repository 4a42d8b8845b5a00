/** Completes arguments, mainly ids. */
import type { CompleteRequest, CompleteResult } from "@modelcontextprotocol/sdk/types";
import { type Calling, callVerb } from "../call.ts";
import { hasArgument } from "./prompts.ts";
import { resourceTemplates } from "./resources.ts";

/** Most values in an answer (MCP, completion/complete). */
const VALUES_MAX = 100;

type Known = Readonly<Record<string, string>>;
type Source = (calling: Calling, known: Known) => Promise<string[]>;

/** Values of arguments, by name. */
const SOURCES: Readonly<Record<string, Source>> = {
  session_id: async (calling) => (await sessions(calling)).map(({ id }) => id),
  workdir: async (calling) => [...new Set((await sessions(calling)).map(({ workdir }) => workdir))],
  model: async (calling) => [(await callVerb("daemon.info", {}, calling)).default_model],
  lane_id: async (calling, { session_id }) => {
    if (!session_id) return [];
    const { lanes } = await callVerb("lanes.list", { session_id }, calling);
    return lanes.map(({ lane_id }) => lane_id);
  },
  approval_id: async (calling, { session_id }) => {
    if (!session_id) return [];
    const { pending_approvals } = await callVerb("session.get", { session_id }, calling);
    return pending_approvals.map(({ approval_id }) => approval_id);
  },
  mission_id: async (calling) => {
    const { missions } = await callVerb("mission.list", {}, calling);
    return missions.map(({ mission_id }) => mission_id);
  },
  task_id: async (calling) => {
    const { tasks } = await callVerb("task.list", {}, calling);
    return tasks.map(({ id }) => id);
  },
};

/** Completes an argument of a prompt or template. Unknown ones get no suggestions, not an error. */
export async function complete(
  { ref, argument, context }: CompleteRequest["params"],
  calling: Calling,
): Promise<CompleteResult> {
  const known = ref.type === "ref/prompt"
    ? hasArgument(ref.name, argument.name)
    : resourceTemplates(calling).some(({ uriTemplate }) =>
      uriTemplate === ref.uri && uriTemplate.includes(argument.name)
    );
  const source = known ? SOURCES[argument.name] : undefined;
  const all = await source?.(calling, context?.arguments ?? {}) ?? [];
  const fitting = all.filter((value) => value.startsWith(argument.value));
  return {
    completion: {
      values: fitting.slice(0, VALUES_MAX),
      total: fitting.length,
      hasMore: fitting.length > VALUES_MAX,
    },
  };
}

/** All sessions, newest first. */
async function sessions(calling: Calling) {
  const { sessions } = await callVerb("session.list", { include_ended: true }, calling);
  return sessions.toReversed();
}
