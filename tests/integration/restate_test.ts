/** Tasks on Restate, with real daemons, workers and servers. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Hire, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { has_restate, RestateServer, restateToml, TaskWorker } from "../support/restate.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, gone, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !has_restate || Deno.build.os !== "linux";

/** Writes the pid of the command into `pid`, and waits. */
const WAIT = "echo $$ >pid; exec sleep 60";

const DRY_RUN = { task_type: "deploy", query: "x", extra: { target: "waits", dry_run: true } };
const WAITING = { task_type: "deploy", query: "x", extra: { target: "waits" } };

/** A home for a front door and workers on a server, with a target that waits. */
function home(server: RestateServer): Place {
  const place = new Place();
  place.configure(restateToml(server));
  writePolicy(place, { deploy_targets: [shellTarget("waits", place.dir, WAIT)] });
  return place;
}

/** Returns the pid of the waiting command, once it runs. */
async function commandOf(place: Place): Promise<number> {
  let text = "";
  await until(() => {
    try {
      text = Deno.readTextFileSync(join(place.dir, "pid"));
    } catch {
      // It has not begun.
    }
    return text.endsWith("\n");
  }, "the beginning of the command");
  return Number(text);
}

/** Returns what a worker said, without that it has registered itself. */
function eventsOf({ said }: TaskWorker): string[] {
  return said.map((line) => JSON.parse(line).event).filter((it) => it !== "worker.registered");
}

Deno.test({
  name: "a client that leaves one machine has its task stopped on the other",
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await RestateServer.start(join(data.dir, "restate"));
    await using place = home(server);
    await using front = await Hire.serve(place);
    await using worker = await TaskWorker.start(place);
    const client = new AbortController();
    const left = front.task(WAITING, { signal: client.signal }).catch((error) => error.name);
    const pid = await commandOf(place);
    client.abort();
    assertEquals(await left, "AbortError");
    assert(await gone(pid));
    const { id } = await front.task(DRY_RUN);
    const { json } = await front.request("GET", `/api/task/${id}`);
    assertEquals([json.status, json.hired], ["completed", true]);
    assertStringIncludes(json.worker, `/${worker.pid}`);
    await until(() => worker.said.at(-1)!.includes('"task.completed"'), "the worker's word");
    assertEquals(eventsOf(worker).filter((it) => it !== "task.started"), [
      "worker.started",
      "task.failed",
      "task.completed",
    ]);
  },
});

Deno.test({
  name: "a worker that is told to stop leaves the next task to the next worker",
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await RestateServer.start(join(data.dir, "restate"));
    await using place = home(server);
    await using front = await Hire.serve(place);
    await using worker = await TaskWorker.start(place);
    const id = await front.queue(DRY_RUN);
    const events = await front.events(id);
    assertEquals(events.map(({ type }) => type), [
      "task.enqueued",
      "task.started",
      "task.completed",
    ]);
    assertEquals(await worker.stop("SIGINT"), 0);
    assertEquals(eventsOf(worker).at(-1), "worker.stopped");
    // A worker elsewhere gets what is asked for from now on.
    await using next = await TaskWorker.start(place);
    const waiting = await front.queue(DRY_RUN);
    assertEquals((await front.events(waiting)).at(-1).task.status, "completed");
    await until(() => eventsOf(next).includes("task.completed"), "what the next worker does");
  },
});

Deno.test({
  name: "without its server a daemon starts, answers 503 and says why; with it, all goes on",
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await RestateServer.start(join(data.dir, "restate"));
    await server.kill();
    await using place = home(server);
    await using front = await Hire.serve(place);
    const refused = await front.request("POST", "/api/task", { body: DRY_RUN });
    assertEquals([refused.status, refused.json.error.code], [503, "unavailable"]);
    assert(!refused.text.includes(new URL(server.url).port), "a hirer is told where the server is");
    assert(Number(refused.headers.get("retry-after")) > 0);
    const { stdout } = await place.svc(["doctor", "--json"]);
    const { checks } = JSON.parse(stdout);
    const { status, message } = checks.find(({ name }: { name: string }) => name === "tasks");
    assertEquals(status, "fail");
    assertStringIncludes(message, `Restate at ${server.admin_url}`);
    await server.start();
    await using _worker = await TaskWorker.start(place);
    const answer = await front.request("POST", "/api/task", { body: DRY_RUN });
    assertEquals([answer.status, answer.json.status], [200, "completed"]);
  },
});

Deno.test({
  name: "the bearer token for the server is sent to it, and stands in no log",
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await RestateServer.start(join(data.dir, "restate"));
    await using guarded = new Guarded(server.url, "a-key-of-restate");
    await using place = home(server);
    const toml = restateToml({ url: guarded.url, admin_url: server.admin_url });
    place.configure(`${toml}restate_key_env = "RESTATE_KEY"\n`);
    place.env.RESTATE_KEY = "a-key-of-restate";
    await using worker = await TaskWorker.start(place);
    await using front = await Hire.serve(place);
    assertEquals((await front.task(DRY_RUN)).status, "completed");
    await front.stop();
    await using denied = await Hire.serve(place, { env: { RESTATE_KEY: "another-key" } });
    const answer = await denied.request("POST", "/api/task", { body: DRY_RUN });
    assert(answer.status >= 400, answer.text);
    for (const part of [denied, worker]) await part.kill();
    const said = (await Promise.all([front.log, denied.log, worker.log])).join("\n");
    for (const secret of [...TOKENS, "a-key-of-restate", "another-key"]) {
      assert(!said.includes(secret) && !answer.text.includes(secret), secret);
    }
  },
});

/** Passes requests with a bearer token on. */
class Guarded implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(target: string, token: string) {
    const at = { hostname: "127.0.0.1", port: 0, onListen() {} };
    this.#server = Deno.serve(at, (request) => {
      if (request.headers.get("authorization") !== `Bearer ${token}`) {
        return new Response("who are you?", { status: 401 });
      }
      const { pathname, search } = new URL(request.url);
      return fetch(`${target}${pathname}${search}`, request);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

Deno.test({
  name: "a worker says what it needs where tasks are kept by the daemon",
  ignore,
  async fn() {
    await using place = new Place();
    const { code, stderr } = await place.svc(["task", "worker"]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, 'engine = "restate"');
  },
});
