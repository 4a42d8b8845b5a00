/** Calls of tools that a test has a scripted model make, and their results. */
import { join } from "@std/path";
import type { EventParams } from "../../src/client/rpc.ts";
import type { Answer, ScriptedCall } from "./model_servers.ts";
import { Scenario, type ScenarioOptions } from "./scripted.ts";

/** The result of a call. */
export interface Made {
  ok: boolean;
  output: string;
  truncated: boolean;
}

/** A daemon whose model makes the calls that a message asks for, one after the other. */
export class MadeCalls implements AsyncDisposable {
  private constructor(readonly scenario: Scenario) {}

  static async begin(options: ScenarioOptions = {}): Promise<MadeCalls> {
    const scenario = await Scenario.begin(({ messages }): Answer => {
      const from = messages.findLastIndex(({ role }) => role === "user");
      const message = messages[from];
      const calls: ScriptedCall[] = message.role === "user" ? JSON.parse(message.text) : [];
      const made = messages.slice(from).filter(({ role }) => role === "assistant").length;
      return made < calls.length ? { calls: [calls[made]] } : { text: "Done." };
    }, options);
    return new MadeCalls(scenario);
  }

  /** A directory of its own with these files; the calls that follow are made there. */
  async in(name: string, files: Record<string, string | Uint8Array> = {}): Promise<string> {
    const { scenario } = this;
    const workdir = scenario.place.mkdir(name);
    for (const [path, content] of Object.entries(files)) put(join(workdir, path), content);
    scenario.session_id = await scenario.client.session({
      workdir,
      model: scenario.model,
      approval: "auto",
    });
    return workdir;
  }

  /** Makes calls in the last session, each in an answer of its own. */
  async make(...calls: [name: string, args: unknown][]): Promise<Made[]> {
    const { client, session_id } = this.scenario;
    const from = client.events.length;
    const asked = JSON.stringify(calls.map(([name, args]) => ({ name, args })));
    const { seq: to } = await client.turn(session_id, asked);
    const results = client.events.slice(from).filter((event: EventParams) =>
      event.session_id === session_id && event.type === "session.tool_completed" && event.seq < to
    );
    return results.map(({ data }) => data as unknown as Made);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scenario[Symbol.asyncDispose]();
  }
}

function put(path: string, content: string | Uint8Array): void {
  Deno.mkdirSync(join(path, ".."), { recursive: true });
  if (typeof content === "string") Deno.writeTextFileSync(path, content);
  else Deno.writeFileSync(path, content);
}
