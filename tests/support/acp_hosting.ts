/** Sessions whose turns the scripted agent of `acp_agent_main.ts` answers. */
import { fromFileUrl, join } from "@std/path";
import type { EventParams } from "../../src/client/rpc.ts";
import { programPath } from "./programs.ts";
import { processesWith, until } from "./scripted.ts";
import { can_run_svc, type Daemon, Place, type TestClient } from "./svc.ts";

const MAIN = fromFileUrl(new URL("./acp_agent_main.ts", import.meta.url));
const node = programPath("node");
/** Whether there can be no such agent here. */
export const ignore = !can_run_svc || Deno.build.os === "windows" || node === undefined;
/** What only the sandbox keeps an agent from. */
export const no_jail = ignore || Deno.build.os !== "linux" || programPath("bwrap") === undefined;

/** Writes the agent as one file for Node. */
export async function bundleAgent(program: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform=deno", `--output=${program}`, MAIN],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** A line for the agent: asks for this edit, then makes it itself. */
export function ownEdit(
  path: string,
  oldText: string | null,
  newText: string,
  more: Record<string, unknown> = {},
): string {
  const content = [{ type: "diff", path, oldText, newText }];
  return `edit ${JSON.stringify({ content, ...more })}`;
}

/** A daemon with the agent, and one session that it is the mind of. */
export class Hosting implements AsyncDisposable {
  readonly place = new Place({ AGENT_KEY: "the-agents-key", OTHER_KEY: "not-for-it" });
  readonly workdir = this.place.mkdir("project");
  daemon!: Daemon;
  client!: TestClient;
  session_id!: string;

  static async begin(
    { toml = "", approval = "auto" }: { toml?: string; approval?: string } = {},
  ): Promise<Hosting> {
    const hosting = new Hosting();
    const program = join(hosting.workdir, "agent.mjs");
    await bundleAgent(program);
    hosting.place.configure(`
[cortex]
curator = false
[acp.tester]
command = "${node}"
args = ["${program}"]
env = ["AGENT_KEY"]
${toml}`);
    await hosting.restart();
    hosting.session_id = await hosting.client.session({
      workdir: hosting.workdir,
      model: "acp/tester",
      approval,
    });
    return hosting;
  }

  async restart(): Promise<void> {
    await this.client?.[Symbol.asyncDispose]();
    this.daemon = await this.place.serve();
    this.client = await this.daemon.rpc();
    if (this.session_id === undefined) return;
    const { session_id } = this;
    await this.client.rpc.call("session.subscribe", { session_id, since_seq: 0 });
  }

  /** Sends a message. @returns how its turn ended. */
  async turn(text: string): Promise<EventParams["data"]> {
    return (await this.client.turn(this.session_id, text, 60_000)).data;
  }

  /** Decides about the `nth` question, counted from 1. @returns the question. */
  async decide(nth: number, decision: string): Promise<EventParams["data"]> {
    await until(() => this.of("approval.requested").length >= nth, `question ${nth}`, 60_000);
    const asked = this.of("approval.requested")[nth - 1];
    const { approval_id } = asked;
    const { session_id } = this;
    await this.client.rpc.call("session.approve", { session_id, approval_id, decision });
    return asked;
  }

  of(type: string): EventParams["data"][] {
    return this.client.of(type).map(({ data }) => data);
  }

  agents(): number[] {
    return processesWith(join(this.workdir, "agent.mjs"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}
