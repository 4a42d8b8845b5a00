/** `/cost`, `/tools` and `/agents` of a chat: what belongs to its session. */
import type { CallVerb } from "../verb_types.ts";

/** What such a command shows. */
export type Shown = "cost" | "tools" | "agents";

/** What the label of a subagent's lane begins with. */
const AGENT = "agent: ";
/** The most characters of a description in a list. */
const DESCRIPTION_MAX = 100;

/** Runs the command and returns the text for the person. */
export async function runShow(
  what: Shown,
  session_id: string,
  call: CallVerb,
): Promise<string> {
  switch (what) {
    case "cost": {
      const { usd, tokens_in, tokens_out } = await call("cost.get_current", { session_id });
      return `$${usd.toFixed(4)} so far: ${counted(tokens_in)} in, ${counted(tokens_out)} out`;
    }
    case "tools":
      return await toolsText(session_id, call);
    case "agents": {
      const { lanes } = await call("lanes.list", { session_id });
      const agents = lanes.filter(({ label }) => label.startsWith(AGENT));
      if (agents.length === 0) return "no agents in this session";
      return agents.map(({ lane_id, status, label, tokens }) => {
        const used = tokens === undefined ? "" : `  ${counted(tokens)}`;
        return `${lane_id}  ${status}  ${label}${used}`;
      }).join("\n");
    }
  }
}

async function toolsText(session_id: string, call: CallVerb): Promise<string> {
  const { tools, problems } = await call("mcp.list_tools", { session_id });
  const lines = tools.map(({ name, description }) => {
    const [first] = description.split("\n");
    const short = first.length > DESCRIPTION_MAX ? `${first.slice(0, DESCRIPTION_MAX)}…` : first;
    return `  ${name}  ${short}`;
  });
  return [
    lines.length === 0
      ? "no tools of tool servers; svc's own tools are always there"
      : "tools of tool servers, besides svc's own:",
    ...lines,
    ...problems.map(({ server, message }) => `  ${server}: ${message}`),
  ].join("\n");
}

function counted(tokens: number): string {
  return `${tokens.toLocaleString("en-US")} tokens`;
}
