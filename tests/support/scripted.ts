/** A daemon whose sessions talk to a scripted model server: what tests of turns start from. */
import { delay } from "@std/async";
import type { EventParams } from "../../src/client/rpc.ts";
import type { Message } from "../../src/models/model.ts";
import {
  type Answer,
  type ModelServer,
  type Scripted,
  scriptSteps,
  startAnthropicServer,
  startGoogleServer,
  startOpenAiServer,
  startResponsesServer,
} from "./model_servers.ts";
import { type Daemon, Place, type TestClient, untitled } from "./svc.ts";

export type Provider = "openai-compatible" | "openai-responses" | "anthropic" | "google";
export const PROVIDERS: readonly Provider[] = ["openai-compatible", "anthropic"];

const SERVERS: Record<Provider, [name: string, start: typeof startOpenAiServer]> = {
  "openai-compatible": ["local", startOpenAiServer],
  anthropic: ["claude", startAnthropicServer],
  google: ["gemini", startGoogleServer],
  "openai-responses": ["gpt", startResponsesServer],
};
const KEY = "sk-the-right-key-of-the-test";

export interface ScenarioOptions {
  provider?: Provider;
  /** What follows in daemon.toml. */
  toml?: string;
  /** Whether turns are read when they are over; default: not, as it is one more request each. */
  curator?: boolean;
  /** Whether the conversations that the server is sent are kept; default: they are. */
  record?: boolean;
  /** What stands in policy.yaml. */
  policy?: string;
  /** Whether its servers are first met by a turn; default: they have answered before, however slow. */
  cold?: boolean;
  /** More variables of the daemon's environment. */
  env?: Record<string, string>;
  /** The key in the daemon's environment; default: the one the server takes. */
  key?: string;
  /** The program and first arguments of `svc`; default: those of all tests. */
  command?: [string, string[]];
  /** Parameters of session.start. */
  start?: Record<string, unknown>;
}

/** Everything a test of a turn needs; ends in the right order. */
export class Scenario implements AsyncDisposable {
  readonly place: Place;
  readonly server: ModelServer;
  /** The conversations that the server was sent, in order. */
  readonly asked: Message[][];
  readonly model: string;
  readonly workdir: string;
  daemon!: Daemon;
  client!: TestClient;
  session_id!: string;
  readonly #start: Record<string, unknown>;

  private constructor(script: Scripted, options: ScenarioOptions) {
    const { provider = "openai-compatible", toml = "", key = KEY, start = {} } = options;
    const { curator = false } = options;
    this.asked = [];
    const recorded: Scripted = (request) => {
      if (options.record ?? true) this.asked.push(structuredClone(request.messages));
      return script(request);
    };
    const [name, start_server] = SERVERS[provider];
    this.server = start_server(recorded, { api_key: KEY, capture: options.record });
    this.model = `${name}/model-1`;
    this.place = new Place({ MODEL_KEY: key, ...options.env }, { command: options.command });
    if (options.policy !== undefined) this.place.setPolicy(options.policy);
    this.place.configure(`
[cortex]
curator = ${curator}
[models.${name}]
${provider === "openai-responses" ? 'kind = "openai"\napi = "responses"' : `kind = "${provider}"`}
base_url = "${this.server.url}"
api_key_env = "MODEL_KEY"
${untitled(toml)}`);
    this.workdir = this.place.mkdir("project");
    this.#start = start;
  }

  /** Starts server, daemon and a session that needs no approvals. */
  static async begin(
    steps: readonly (Answer | Scripted)[] | Scripted,
    options: ScenarioOptions = {},
  ): Promise<Scenario> {
    const script = typeof steps === "function" ? steps : scriptSteps(steps);
    const scenario = new Scenario(script, options);
    try {
      scenario.daemon = await scenario.place.serve();
      scenario.client = await scenario.daemon.rpc();
      scenario.session_id = await scenario.client.session({
        workdir: scenario.workdir,
        model: scenario.model,
        approval: "auto",
        ...scenario.#start,
      });
      if (options.policy !== undefined && !options.cold) await scenario.warm();
    } catch (error) {
      await scenario[Symbol.asyncDispose]();
      throw error;
    }
    return scenario;
  }

  /** Waits for the tool servers: a turn waits for them a moment only. */
  async warm(): Promise<void> {
    await this.call("mcp.list_tools");
  }

  /** Sends a message and waits for the end of its turn. */
  turn(text: string): Promise<EventParams> {
    return this.client.turn(this.session_id, text);
  }

  /** Sends a message without waiting for its turn. */
  send(text: string): Promise<{ message_id: string; seq: number }> {
    return this.client.rpc.call("session.send", { session_id: this.session_id, text });
  }

  /** Calls a verb on the session. */
  // deno-lint-ignore no-explicit-any -- tests look at what they expect
  call(method: string, params: Record<string, unknown> = {}): Promise<any> {
    return this.client.rpc.call(method, { session_id: this.session_id, ...params });
  }

  /** The first event of a type that fits, past or future. */
  event(type: string, fits: (event: EventParams) => boolean = () => true): Promise<EventParams> {
    return this.client.wait((event) => event.type === type && fits(event), type);
  }

  /**
   * The types of all events, without deltas of text and without the lanes of calls that take long,
   * which any call does on a busy machine.
   */
  types(): string[] {
    const slow = new Set(
      this.client.of("lane.created").filter(({ data }) => data.kind === "tool")
        .map(({ data }) => data.lane_id),
    );
    const ofSlow = (type: string, data: { lane_id?: unknown }) =>
      type.startsWith("lane.") && slow.has(data.lane_id);
    return this.client.events.filter(({ type, data }) =>
      !type.endsWith(".delta") && !ofSlow(type, data)
    ).map(({ type }) => type);
  }

  /** Kills the daemon, if it still runs, starts another and subscribes to the session again. */
  async restart(): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.daemon.kill();
    this.daemon = await this.place.serve();
    this.client = await this.daemon.rpc();
    await this.call("session.subscribe", { since_seq: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client?.[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
    await this.server.close();
  }
}

/** Resolves once `holds` does; the error names what did not come. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  timeout_ms = 60_000,
): Promise<void> {
  const end = Date.now() + timeout_ms;
  // Less and less often: to look can cost more than what is waited for.
  for (let pause = 10; !(await holds()); pause = Math.min(1.3 * pause, 50)) {
    if (Date.now() > end) throw new Error(`${what}: not within ${timeout_ms} ms`);
    await delay(pause);
  }
}

/** The living processes whose command line contains `text` (Linux). */
export function processesWith(text: string): number[] {
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`);
      if (!line.replaceAll("\0", " ").includes(text)) continue;
      const state = Deno.readTextFileSync(`/proc/${name}/stat`).match(/\) (\S)/)?.[1];
      if (state !== "Z") found.push(Number(name));
    } catch {
      // Gone meanwhile.
    }
  }
  return found;
}
