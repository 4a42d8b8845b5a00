/** One daemon for the scenarios of a file whose tests look at their own sessions only. */
import { beforeTests } from "../support/before_tests.ts";
import {
  type Answer,
  type Scripted,
  scriptSteps,
  startOpenAiServer,
} from "../support/model_servers.ts";
import { Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

/** Starts before the file's first test and ends after its last. */
export class SharedDaemon {
  #place: Place | undefined;
  #daemon: Daemon | undefined;
  #count = 0;

  constructor() {
    beforeTests(async () => {
      if (!can_run_svc) return;
      this.#place = new Place();
      this.#daemon = await this.#place.serve();
    });
    Deno.test.afterAll(async () => await this.#place?.[Symbol.asyncDispose]());
  }

  /**
   * As `Scenario.begin`, with a session, a client, a directory and a model server of the test's own;
   * the daemon reads its configuration again. What the test leaves running ends with it.
   *
   * @param options.toml not `[sandbox]`, which holds from the daemon's start.
   */
  async begin(
    steps: readonly (Answer | Scripted)[] | Scripted,
    { toml = "", start = {} }: Pick<ScenarioOptions, "toml" | "start"> = {},
  ): Promise<Scenario> {
    const [place, daemon] = [this.#place!, this.#daemon!];
    const script = typeof steps === "function" ? steps : scriptSteps(steps);
    const asked: Scenario["asked"] = [];
    const server = startOpenAiServer((request) => {
      asked.push(structuredClone(request.messages));
      return script(request);
    }, { open: true });
    const client = await daemon.rpc();
    const end = async () => {
      const { sessions } = await client.rpc.call("session.list", {});
      for (const { id } of sessions) await client.rpc.call("session.kill", { session_id: id });
      await client[Symbol.asyncDispose]();
      await server.close();
    };
    try {
      place.useLocalModel(server.url, toml);
      await client.rpc.call("daemon.reload_config");
      const workdir = place.mkdir(`project-${++this.#count}`);
      const model = "local/model-1";
      const session_id = await client.session({ workdir, model, approval: "auto", ...start });
      const own = { place, daemon, server, client, asked, model, workdir, session_id };
      return Object.assign(Object.create(Scenario.prototype), own, { [Symbol.asyncDispose]: end });
    } catch (error) {
      await end();
      throw error;
    }
  }
}
