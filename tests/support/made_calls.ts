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
  /** The calls of each message, by its text. */
  readonly #asked: Map<string, readonly ScriptedCall[]>;

  private constructor(readonly scenario: Scenario, asked: Map<string, readonly ScriptedCall[]>) {
    this.#asked = asked;
  }

  static async begin(options: ScenarioOptions = {}): Promise<MadeCalls> {
    const asked = new Map<string, readonly ScriptedCall[]>();
    const scenario = await Scenario.begin(({ messages }): Answer => {
      const from = messages.findLastIndex(({ role }) => role === "user");
      const message = messages[from];
      const calls = message.role === "user" ? asked.get(message.text) ?? [] : [];
      const made = messages.slice(from).filter(({ role }) => role === "assistant").length;
      return made < calls.length ? { calls: [calls[made]] } : { text: "Done." };
    }, options);
    return new MadeCalls(scenario, asked);
  }

  /**
   * A directory of its own with these files; the calls that follow are made there.
   *
   * @param start more parameters of the session
   */
  async in(
    name: string,
    files: Record<string, string | Uint8Array> = {},
    start: Record<string, unknown> = { approval: "auto" },
  ): Promise<string> {
    const { scenario } = this;
    const workdir = scenario.place.mkdir(name);
    for (const [path, content] of Object.entries(files)) put(join(workdir, path), content);
    scenario.session_id = await scenario.client.session({
      workdir,
      model: scenario.model,
      ...start,
    });
    return workdir;
  }

  /** Returns the text that has the model make these calls, each in an answer of its own. */
  message(...calls: [name: string, args: unknown][]): string {
    const text = `calls ${this.#asked.size + 1}`;
    this.#asked.set(text, calls.map(([name, args]) => ({ name, args })));
    return text;
  }

  /** Makes calls in the last session. */
  async make(...calls: [name: string, args: unknown][]): Promise<Made[]> {
    const { client, session_id } = this.scenario;
    const { seq: from } = await this.scenario.send(this.message(...calls));
    const ours = (event: EventParams, type: string) =>
      event.session_id === session_id && event.type === type && event.seq > from;
    await client.wait((event) => ours(event, "turn.completed"), "turn.completed");
    const results = client.events.filter((event) => ours(event, "session.tool_completed"));
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
