/** Daemons that take tasks for hire, with each of the task engines. */
import { Hire, type HireServeOptions } from "./hire.ts";
import { has_restate, RestateServer, restateToml, TaskWorker } from "./restate.ts";
import { can_run_svc, Place } from "./svc.ts";

export const ENGINES = ["local", "restate"] as const;

export interface HireYardOptions extends HireServeOptions {
  /** How many queued tasks run at once. */
  workers?: number;
  /** More of daemon.toml, besides `[tasks]`. */
  more?: string;
}

/** A place with a daemon that takes tasks, and what runs those that are queued. */
export class HireYard implements AsyncDisposable {
  readonly place = new Place();
  readonly engine: typeof ENGINES[number];
  #server: RestateServer | undefined;
  #worker: TaskWorker | undefined;

  constructor(engine: typeof ENGINES[number]) {
    this.engine = engine;
  }

  /** Starts the daemon; with Restate, its server and a worker first. */
  async serve({ workers = 2, more = "", ...options }: HireYardOptions = {}): Promise<Hire> {
    if (this.engine === "local") {
      this.place.configure(`[tasks]\nworkers = ${workers}\n${more}`);
      return await Hire.serve(this.place, options);
    }
    if (this.#server === undefined) {
      this.#server = await RestateServer.start(this.place.mkdir("restate"));
      this.place.configure(restateToml(this.#server, more));
      const flags = options.args?.includes("--allow-private") ? ["--allow-private"] : [];
      const slots = String(Math.max(workers, 1));
      this.#worker = await TaskWorker.start(this.place, "--workers", slots, ...flags);
      const settings = { now: Date.now(), workers };
      await this.#server.call("svc-queue", "all", "settings", settings);
    }
    return await Hire.serve(this.place, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

/** Declares a test for each engine, or for some. */
export function testEngines(
  name: string,
  fn: (yard: HireYard) => Promise<void>,
  { engines = ENGINES, ignore = false }: {
    engines?: readonly typeof ENGINES[number][];
    ignore?: boolean;
  } = {},
): void {
  for (const engine of engines) {
    Deno.test({
      name: engine === "local" ? name : `on Restate, ${name}`,
      ignore: ignore || !can_run_svc || (engine === "restate" && !has_restate),
      async fn() {
        await using yard = new HireYard(engine);
        await fn(yard);
      },
    });
  }
}
