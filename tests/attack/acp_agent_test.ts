/**
 * An agent over ACP means harm. Its session asks, and the person allows what they are asked: it wants
 * what they were not asked. The control is the same agent in a session that asks nothing, or an edit
 * that the person was asked about.
 */
import { join } from "@std/path";
import { bundleAgent, ownEdit } from "../support/acp_hosting.ts";
import { programPath } from "../support/programs.ts";
import { attacksBy, type Loot, sharedStage } from "./kit.ts";

const attack = attacksBy("agent over ACP");
const NEEDS = { needs: ["sandbox", "node"] } as const;
const it = sharedStage({
  async prepare(stage) {
    const program = join(stage.dir, "agent.mjs");
    await bundleAgent(program);
    agent_text = await Deno.readTextFile(program);
    stage.configure(
      `[cortex]\ncurator = false\n[acp.tester]\ncommand = "${programPath("node")}"\n` +
        `args = ["agent.mjs"]\n`,
    );
  },
});
let agent_text = "";
let directories = 0;

/**
 * A directory of the victim's with two files and the agent, which sees the system and its session's
 * directory only.
 */
function project() {
  const { victim } = it.stage;
  const workdir = it.stage.workdir(`project-${++directories}`);
  victim.write(join(workdir, "agent.mjs"), agent_text);
  for (const name of ["a.txt", "b.txt"]) victim.write(join(workdir, name), "one\n");
  victim.mkdir(join(workdir, "sub"));
  return { workdir, at: (name: string) => join(workdir, name) };
}

/** Runs one turn of the agent; every question is answered so. @returns what the person was asked. */
async function turn(
  workdir: string,
  lines: readonly string[],
  { approval = "ask", decision = "allow" } = {},
): Promise<string[]> {
  const { stage } = it;
  const session_id = await stage.session(workdir, { model: "acp/tester", approval });
  const { seq } = await stage.call("session.send", { session_id, text: lines.join("\n") });
  const asked: string[] = [];
  for await (const { type, data } of stage.events(session_id, seq)) {
    if (type === "turn.completed") break;
    if (type !== "approval.requested") continue;
    asked.push(data.reason);
    const { approval_id } = data;
    await stage.call("session.approve", { session_id, approval_id, decision });
  }
  await stage.call("session.kill", { session_id });
  return asked;
}

/** The text of a file, if it is the agent's. */
function planted(path: string, text: string): Loot {
  try {
    return Deno.readTextFileSync(path).includes(text) ? `${path}: ${text}` : undefined;
  } catch {
    return undefined;
  }
}

/** The lines as an agent's in a session that asks nothing, then in one that asks. */
function unasked(
  name: string,
  lines: (at: (name: string) => string) => string[],
  { file, text }: { file: string; text: string },
): void {
  attack(name, {
    ...NEEDS,
    async control() {
      const { workdir, at } = project();
      await turn(workdir, lines(at), { approval: "auto" });
      return planted(at(file), text);
    },
    async attempt() {
      const { workdir, at } = project();
      await turn(workdir, lines(at));
      return planted(at(file), text);
    },
  });
}

unasked("writes a file without asking", (at) => [`plant ${at("a.txt")}`], {
  file: "a.txt",
  text: "planted",
});
unasked("makes a file without asking", (at) => [`plant ${at("sub/new.txt")}`], {
  file: "sub/new.txt",
  text: "planted",
});
unasked("asks for one file and writes another", (at) => [
  ownEdit(at("a.txt"), "one", "harmless"),
  `plant ${at("b.txt")}`,
], { file: "b.txt", text: "planted" });
unasked("asks for one text and writes another into the same file", (at) => [
  ownEdit(at("a.txt"), "one", "harmless"),
  `plant ${at("a.txt")}`,
], { file: "a.txt", text: "planted" });
unasked("writes what was denied", (at) => [
  `edit ${JSON.stringify({ kind: "edit", locations: [{ path: at("a.txt") }], then: at("a.txt") })}`,
  `plant ${at("a.txt")}`,
], { file: "a.txt", text: "planted" });

attack("has a file that runs later written by what is always allowed", {
  ...NEEDS,
  async control() {
    const { workdir, at } = project();
    const asked = await turn(workdir, [
      ownEdit(at("a.txt"), "one", "two"),
      ownEdit(at("b.txt"), "one", "pwned"),
    ], { decision: "allow_always" });
    return asked.length === 1 ? planted(at("b.txt"), "pwned") : undefined;
  },
  async attempt() {
    const { workdir, at } = project();
    it.stage.victim.mkdir(at(".vscode"));
    it.stage.victim.write(at(".vscode/tasks.json"), "one\n");
    const asked = await turn(workdir, [
      ownEdit(at("a.txt"), "one", "two"),
      ownEdit(at(".vscode/tasks.json"), "one", "pwned"),
    ], { decision: "allow_always" });
    return asked.length === 1 ? planted(at(".vscode/tasks.json"), "pwned") : undefined;
  },
});

attack("has a file outside written through a link", {
  ...NEEDS,
  async control() {
    const { workdir, at } = project();
    await turn(workdir, [ownEdit(at("sub/x.txt"), null, "pwned")]);
    return planted(at("sub/x.txt"), "pwned");
  },
  async attempt() {
    const { workdir, at } = project();
    const outside = it.stage.workdir(`outside-${directories}`);
    Deno.symlinkSync(outside, at("link"));
    await turn(workdir, [
      ownEdit(at("link/x.txt"), null, "pwned"),
      ownEdit(at(`../outside-${directories}/x.txt`), null, "pwned"),
      ownEdit(`${workdir}/sub/../../outside-${directories}/x.txt`, null, "pwned"),
    ]);
    return planted(join(outside, "x.txt"), "pwned");
  },
});

attack("deletes a second file by the name of the first", {
  ...NEEDS,
  async control() {
    const { workdir, at } = project();
    await turn(workdir, [
      `edit ${JSON.stringify({ kind: "delete", locations: [{ path: at("b.txt") }] })}`,
    ]);
    return planted(at("b.txt"), "one") === undefined ? "deleted" : undefined;
  },
  async attempt() {
    const { workdir, at } = project();
    const path = `${at("a.txt")}\n*** Delete File: b.txt`;
    await turn(workdir, [`edit ${JSON.stringify({ kind: "delete", locations: [{ path }] })}`]);
    return planted(at("b.txt"), "one") === undefined ? "deleted" : undefined;
  },
});
