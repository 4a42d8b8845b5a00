/**
 * Where svc runs something for a session that is no command of its model: the project's tests, the
 * checks and tasks of a mission, the process of an agent over ACP, a project's tool server. Each way
 * runs a line of shell in a project and tells what the person was told.
 */
import { delay } from "@std/async";
import { join } from "@std/path";
import { bundleAgent } from "../support/acp_hosting.ts";
import { programPath } from "../support/programs.ts";
import type { Json, Need, Stage, StageOptions } from "./kit.ts";

/** What a stage needs for every way. */
export const WAYS_STAGE: StageOptions = {
  hostile_model: true,
  toml: `[cortex]\ncurator = false\n[policy]\nallow_project = true\n` +
    `[acp.tester]\ncommand = "${programPath("node")}"\nargs = ["agent.mjs"]\n`,
  async prepare(stage) {
    await bundleAgent(join(stage.dir, "agent.mjs"));
  },
};

/** One run of a line by one of the ways. */
export interface Way {
  needs: readonly Need[];
  /** Whether the line works in a linked worktree that svc made, instead of in the project. */
  in_worktree?: boolean;
  /** Whether what the line leaves behind goes on after the turn. */
  lives_on?: boolean;
  /**
   * Begins; `ended` resolves when the line's turn, check or call has ended.
   *
   * @param session_id undefined for the first run in a project
   */
  begin(stage: Stage, workdir: string, line: string, session_id?: string): Promise<Begun>;
}

export interface Begun {
  /** The session in which the person is told. */
  session_id: string;
  ended: Promise<unknown>;
}

const JAILED = ["sandbox", "git"] as const;

export const WAYS: Record<string, Way> = {
  "the project's tests, which the model runs": {
    needs: [...JAILED],
    async begin(stage, workdir, line, known) {
      makefile(stage, workdir, line);
      const session_id = known ?? await stage.session(workdir);
      return { session_id, ended: stage.turn(session_id, "verify test") };
    },
  },
  "the project's tests, which the person runs": {
    needs: [...JAILED],
    async begin(stage, workdir, line, known) {
      makefile(stage, workdir, line);
      const session_id = known ?? await stage.session(workdir);
      return { session_id, ended: stage.call("verify.test", { session_id }) };
    },
  },
  "the check of a mission": {
    needs: [...JAILED],
    in_worktree: true,
    begin: async (stage, workdir, line, known) =>
      await mission(stage, workdir, { task: "run true", check: line }, known),
  },
  "the task of a mission": {
    needs: [...JAILED],
    in_worktree: true,
    begin: async (stage, workdir, line, known) =>
      await mission(stage, workdir, { task: `run ${line}`, check: "true" }, known),
  },
  "the process of an agent": {
    needs: [...JAILED, "node"],
    lives_on: true,
    async begin(stage, workdir, line, known) {
      const session_id = known ?? await agentSession(stage, workdir);
      return { session_id, ended: stage.turn(session_id, `run ${line}`) };
    },
  },
  "a project's tool server": {
    needs: [...JAILED],
    lives_on: true,
    async begin(stage, workdir, line, known) {
      stage.victim.write(join(workdir, "line.sh"), line, 0o644);
      const session_id = known ?? await serverSession(stage, workdir, SERVER);
      const ended = stage.calls(session_id, [{ name: "mcp_mine_run", args: {} }]);
      return { session_id, ended };
    },
  },
  "a project's tool server at its start": {
    needs: [...JAILED],
    lives_on: true,
    async begin(stage, workdir, line, known) {
      stage.victim.write(join(workdir, "line.sh"), line, 0o644);
      const text = `sh line.sh </dev/null >/dev/null 2>&1\n${SERVER}`;
      if (known !== undefined) await stage.call("session.kill", { session_id: known });
      const session_id = await serverSession(stage, workdir, text);
      return { session_id, ended: stage.calls(session_id, []) };
    },
  },
};

function makefile(stage: Stage, workdir: string, line: string): void {
  const text = `test:\n\t@${line.replaceAll("$", () => "$$")}\n`;
  stage.victim.write(join(workdir, "Makefile"), text, 0o644);
}

/** A session of an agent over ACP that is there for the sandbox too. */
export async function agentSession(
  stage: Stage,
  workdir: string,
  params: Json = {},
): Promise<string> {
  const program = await Deno.readTextFile(join(stage.dir, "agent.mjs"));
  stage.victim.write(join(workdir, "agent.mjs"), program, 0o644);
  return await stage.session(workdir, { model: "acp/tester", ...params });
}

/** The protocol's server in a few lines of shell; its tool runs what is in a file. */
const SERVER = `
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$1" "$2"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case "$line" in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"run","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) sh line.sh </dev/null >/dev/null 2>&1; answer "$id" '{"content":[{"type":"text","text":"ran"}]}' ;;
  esac
done
`;

/** A session whose project has a tool server that the person has approved. */
export async function serverSession(
  stage: Stage,
  workdir: string,
  text: string,
  params: Json = {},
): Promise<string> {
  const { victim } = stage;
  victim.write(join(workdir, "server.sh"), text, 0o644);
  const server = { name: "mine", transport: "stdio", command: "sh", args: ["server.sh"] };
  victim.write(join(workdir, "svc.policy.yaml"), JSON.stringify({ mcp_servers: [server] }), 0o644);
  const session_id = await stage.session(workdir, { model: "local/hostile", ...params });
  const { project } = await stage.call("mcp.list_servers", { session_id });
  await stage.call("mcp.approve_project", { session_id, sha256: project.sha256 });
  return session_id;
}

let missions = 0;

async function mission(
  stage: Stage,
  workdir: string,
  { task, check }: { task: string; check: string },
  known?: string,
): Promise<Begun> {
  const session_id = known ?? await stage.session(workdir);
  const spec = {
    id: `m${++missions}`,
    name: "Mission",
    sessions: [{
      id: "s",
      title: "Session",
      tasks: [{ id: "t", description: task }],
      acceptance_criteria: [{ id: "c", description: "It holds.", command: check }],
    }],
  };
  const { last_seq } = await stage.call("session.get", { session_id });
  await stage.call("mission.create", { session_id, spec, approval: "auto" });
  const ended = async () => {
    for await (const { type, data } of stage.events(session_id, last_seq)) {
      if (type !== "mission.completed") continue;
      if (data.status !== "completed") {
        throw new Error(`the mission is ${data.status}: ${data.error}`);
      }
      return;
    }
  };
  return { session_id, ended: ended() };
}

/** A line of shell that says nothing of itself to whatever carries it. */
export function packed(script: string, variables: Record<string, string>): string {
  const given = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`).join("");
  return `echo ${btoa(given + script)} | base64 -d | sh`;
}

/** Makes a file appear when this much of a script is done, and goes on when another one is there. */
export const pausing = (script: string) =>
  `{ ${script}; } >/dev/null 2>&1; : > did; until [ -e go ]; do sleep 0.02; done; rm -f did go`;

/** The directory in which a line that pauses is, once it does. @throws when it ended before */
export async function paused(workdir: string, ended: Promise<unknown>): Promise<string> {
  let over = false;
  const end = () => over = true;
  ended.then(end, end);
  for (;;) {
    const was_over = over;
    const trees = join(workdir, ".svc/worktrees");
    for (const place of [workdir, ...namesIn(trees).map((name) => join(trees, name))]) {
      if (namesIn(place).includes("did")) return place;
    }
    if (was_over) {
      await ended;
      throw new Error("the line did not run to where it pauses");
    }
    await delay(10);
  }
}

/** What the person was told of files, with a turn more that changes nothing. */
export async function toldIn(stage: Stage, session_id: string): Promise<string> {
  const { model, last_seq } = await stage.call("session.get", { session_id });
  const text = model === "local/hostile" ? "[]" : model.startsWith("acp/") ? "say ok" : "run true";
  const { seq } = await stage.call("session.send", { session_id, text });
  let words = "";
  for await (const event of stage.events(session_id, 0)) {
    const { type, data } = event;
    if (type === "lane.note") words += `${data.text}\n`;
    // A mission shows in its lanes what its own sessions are told.
    if (type === "lane.delta" && data.content_block?.text?.includes("run later")) {
      words += `${data.content_block.text}\n`;
    }
    if (type === "turn.completed" && event.seq > Math.max(seq, last_seq)) return words;
  }
  return words;
}

function namesIn(dir: string): string[] {
  try {
    return [...Deno.readDirSync(dir)].map(({ name }) => name);
  } catch {
    return [];
  }
}
