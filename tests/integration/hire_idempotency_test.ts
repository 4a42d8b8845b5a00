/** `Idempotency-Key` of plain requests, and message ids of A2A: one task for each. */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { ListTasksRequest, Role } from "@a2a-js/sdk";
import { eventually, exists } from "../contract/shared.ts";
import { a2aClient, ask, toSend } from "../support/a2a.ts";
import { type Hire, type HireRequest, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { ENGINES, type HireYard, testEngines } from "../support/hire_engines.ts";
import { Site } from "../support/site.ts";
import type { Place } from "../support/svc.ts";

const PATIENCE_MS = 60_000;
const ASYNC = { prefer: "respond-async" };

/** A request for a deployment. */
function held(target: string) {
  return { task_type: "deploy", query: "go", effort: "minimal", extra: { target } };
}

/** A place with deployments that count their starts, and wait until they are let go. */
class Yard implements AsyncDisposable {
  readonly hiring: HireYard;
  readonly place: Place;
  readonly site = new Site(() => new Response("ok"));
  readonly dir: string;
  readonly held = held("a");

  constructor(hiring: HireYard) {
    this.hiring = hiring;
    this.place = hiring.place;
    this.dir = this.place.mkdir("deploy");
    const line = "echo begun >>begun; while [ ! -f go ]; do sleep 0.05; done";
    const health_url = `${this.site.origin}/`;
    // A target has one deployment at a time.
    const deploy_targets = ["a", "b", "c"]
      .map((name) => shellTarget(name, this.dir, line, { health_url }));
    writePolicy(this.place, { deploy_targets });
  }

  serve(): Promise<Hire> {
    return this.hiring.serve({ args: ["--allow-private"] });
  }

  /** How often the deployment has begun. */
  starts(): number {
    const path = join(this.dir, "begun");
    return exists(path) ? Deno.readTextFileSync(path).split("\n").length - 1 : 0;
  }

  async begun(times = 1): Promise<void> {
    assert(await eventually(() => this.starts() >= times, PATIENCE_MS), "it does not begin");
  }

  letGo(): void {
    Deno.writeTextFileSync(join(this.dir, "go"), "");
  }

  /** The number of tasks in the daemon. */
  async tasks(): Promise<number> {
    const { stdout } = await this.place.svc(["ctl", "tasks", "--json"]);
    return JSON.parse(stdout).tasks.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    await this.site[Symbol.asyncDispose]();
  }
}

/** A POST with a key, and more headers. */
function post(hire: Hire, key: string, body: unknown, more: HireRequest = {}) {
  const headers = { "idempotency-key": key, ...more.headers };
  return hire.request("POST", "/api/task", { body, ...more, headers });
}

function test(
  name: string,
  fn: (yard: Yard) => Promise<void>,
  engines: typeof ENGINES | ["local"] = ["local"],
): void {
  testEngines(name, async (hiring) => {
    await using yard = new Yard(hiring);
    await fn(yard);
  }, { engines });
}

test("twenty equal requests at once are one task, also after a SIGKILL", async (yard) => {
  let id: string;
  {
    await using hire = await yard.serve();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => post(hire, "k-1", yard.held, { headers: ASYNC })),
    );
    for (const { status, json, headers } of all) {
      assertEquals([status, headers.get("location")], [202, `/api/task/${json.id}`]);
    }
    const ids = new Set(all.map(({ json }) => json.id));
    assertEquals(ids.size, 1);
    [id] = ids;
    assertEquals(await yard.tasks(), 1);
    await yard.begun();
    await hire.kill();
  }
  await using hire = await yard.serve();
  const again = await post(hire, "k-1", yard.held, { headers: ASYNC });
  assertEquals([again.status, again.json.id], [202, id]);
  // Controls: another key, another token and no key are other tasks.
  const others = [
    await post(hire, "k-2", yard.held, { headers: ASYNC }),
    await post(hire, "k-1", yard.held, { headers: ASYNC, token: TOKENS[1] }),
    await hire.request("POST", "/api/task", { body: yard.held, headers: ASYNC }),
    await hire.request("POST", "/api/task", { body: yard.held, headers: ASYNC }),
  ];
  assertEquals(new Set([id, ...others.map(({ json }) => json.id)]).size, 5);
  assertEquals(await yard.tasks(), 5);
  // A client that waits gets the answer of the same task.
  const waiting = post(hire, "k-1", yard.held);
  yard.letGo();
  const { status, json } = await waiting;
  assertEquals([status, json.id, json.status], [200, id, "completed"], json.error);
}, ENGINES);

test(
  "a key with another body is a conflict; the form of the JSON does not matter",
  async (yard) => {
    await using hire = await yard.serve();
    const { json: { id } } = await post(hire, "k-1", yard.held, { headers: ASYNC });
    const { extra, effort, query, task_type } = yard.held;
    const turned = JSON.stringify({ extra, effort, query, task_type }, null, 2);
    for (const key of ["k-1", '"k-1"']) {
      const same = await post(hire, key, undefined, { text: turned, headers: ASYNC });
      assertEquals([same.status, same.json.id], [202, id]);
    }
    for (const headers of [ASYNC, {}]) {
      const refused = await post(hire, "k-1", { ...yard.held, query: "stop" }, { headers });
      assertEquals([refused.status, refused.json.error.code], [409, "conflict"]);
      assertStringIncludes(refused.json.error.message, `"k-1" belongs to task ${id}`);
      assertStringIncludes(refused.json.error.hint, "a new key");
    }
    assertEquals(await yard.tasks(), 1);
  },
  ENGINES,
);

test("an invalid key is refused; a refused request does not use up its key", async (yard) => {
  await using hire = await yard.serve();
  for (const key of ["", '""', "a b", "x".repeat(256)]) {
    const { status, json } = await post(hire, key, yard.held, { headers: ASYNC });
    assertEquals([status, json.error.code], [400, "validation"], key);
    assertStringIncludes(json.error.message, "1 to 255 visible ASCII characters");
  }
  const wrong = await post(hire, "k-1", { task_type: "dance", query: "x" }, { headers: ASYNC });
  assertEquals(wrong.status, 400);
  assertEquals(await yard.tasks(), 0);
  const { status } = await post(hire, "k-1", yard.held, { headers: ASYNC });
  assertEquals(status, 202);
});

test(
  "clients that wait with one key wait for one task, and one that leaves cancels nothing",
  async (yard) => {
    await using hire = await yard.serve();
    const first = new AbortController();
    const leaving = post(hire, "k-1", yard.held, { signal: first.signal });
    await yard.begun();
    const staying = [1, 2, 3].map(() => post(hire, "k-1", yard.held));
    // A refusal does not count as a client that waits.
    assertEquals((await post(hire, "k-1", { ...yard.held, query: "stop" })).status, 409);
    // The requests before this one have arrived: each is answered only at the end.
    const other = await post(hire, "k-2", held("b"), { headers: ASYNC });
    await yard.begun(2);
    first.abort();
    await assertRejects(() => leaving);
    // The daemon has noticed that the client left once it cancels the task of another that did.
    const second = new AbortController();
    const control = post(hire, "k-3", held("c"), { signal: second.signal });
    await yard.begun(3);
    second.abort();
    await assertRejects(() => control);
    const cancelled = async () => (await post(hire, "k-3", held("c"))).json.cancelled;
    assertEquals(await cancelled(), true, "the task that nobody waits for");

    yard.letGo();
    const answers = await Promise.all(staying);
    assertEquals(new Set(answers.map(({ json }) => json.id)).size, 1);
    for (const { status, json } of answers) {
      assertEquals([status, json.status, json.attempts], [200, "completed", 1], json.error);
    }
    assertNotEquals(answers[0].json.id, other.json.id);
    assertEquals([await yard.tasks(), yard.starts()], [3, 3]);
  },
  ENGINES,
);

test("a task that was also promised with 202 goes on without its waiting client", async (yard) => {
  await using hire = await yard.serve();
  const stop = new AbortController();
  const leaving = post(hire, "k-1", yard.held, { signal: stop.signal });
  await yard.begun();
  const promised = await post(hire, "k-1", yard.held, { headers: ASYNC });
  assertEquals([promised.status, promised.json.status], [202, "running"]);
  stop.abort();
  await assertRejects(() => leaving);
  const control = new AbortController();
  const cancelled = post(hire, "k-2", held("b"), { signal: control.signal });
  await yard.begun(2);
  control.abort();
  await assertRejects(() => cancelled);
  assertEquals((await post(hire, "k-2", held("b"))).json.cancelled, true);
  yard.letGo();
  const { json } = await post(hire, "k-1", yard.held);
  assertEquals([json.id, json.status], [promised.json.id, "completed"], json.error);
}, ENGINES);

test("curl retries a request with a key and gets the same task", async (yard) => {
  await using hire = await yard.serve();
  const curl = async (...more: string[]) => {
    const args = ["-sS", "-o", "/dev/null", "-w", "%{http_code} %header{location}", ...more];
    const { stdout } = await new Deno.Command("curl", {
      args: [
        ...args,
        ...["-H", `X-Svc-Bearer: ${TOKENS[0]}`, "-H", "Content-Type: application/json"],
        ...["-H", "Prefer: respond-async", "-d", JSON.stringify(yard.held)],
        `${hire.url}/api/task`,
      ],
    }).output();
    return new TextDecoder().decode(stdout);
  };
  const first = await curl("-H", 'Idempotency-Key: "of-curl"');
  assertStringIncludes(first, "202 /api/task/t-");
  assertEquals(await curl("-H", 'Idempotency-Key: "of-curl"'), first);
  assertNotEquals(await curl("-H", 'Idempotency-Key: "another"'), first);
  assertStringIncludes(await curl("-H", "Idempotency-Key: of curl"), "400");
});

test("a message id of A2A decides alone, and collides with no key", async (yard) => {
  await using hire = await yard.serve();
  const client = await a2aClient(hire.url);
  const configuration = { returnImmediately: true };
  const send = async (messageId: string, query: string, more = {}) =>
    (await ask(client, toSend({ ...yard.held, query }, { messageId, configuration, ...more }))).id;
  const id = await send("m-1", "go");
  assertEquals(await send("m-1", "stop"), id);
  const role = Role.ROLE_AGENT;
  // What such a message says is not even read.
  assertEquals(await send("m-1", "stop", { contextId: "x".repeat(300), role }), id);
  await assertRejects(() => send("m-2", "stop", { role }), Error, "ROLE_USER");
  const other = await send("m-2", "stop");
  assertNotEquals(other, id);
  const keyed = await post(hire, "m-1", yard.held, { headers: ASYNC });
  assertEquals(new Set([id, other, keyed.json.id]).size, 3);
  assertEquals(await yard.tasks(), 3);

  // Plain tasks are not listed over A2A, whether or not they have a key; they can be read.
  const listed = await client.listTasks(ListTasksRequest.fromJSON({}));
  assertEquals(new Set(listed.tasks.map((it) => it.id)), new Set([id, other]));
  const task = await client.getTask({ tenant: "", id: keyed.json.id });
  assertEquals([task.contextId, task.history], [keyed.json.id, []]);
}, ENGINES);
