/** Hired by A2A: the SDK's own client against the real daemon. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createHmac } from "node:crypto";
import { deadline } from "@std/async";
import { join } from "@std/path";
import { AgentCard, ListTasksRequest, type StreamResponse, TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import {
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import { A2A_VERSIONS, type A2aVersion } from "../../src/features/hire/a2a/card.ts";
import { eventually, exists } from "../contract/shared.ts";
import { a2aClient, ask, CARDS, firstTask, toSend } from "../support/a2a.ts";
import { Hire, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { heronPage, Site } from "../support/site.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;
const CARD = "/.well-known/agent-card.json";
const ARGS = ["--allow-private"];
const PATIENCE_MS = 60_000;

/** A place with a site, and a deployment that begins and then waits until it is let go. */
class Yard implements AsyncDisposable {
  readonly place = new Place();
  readonly site: Site;
  readonly dir = this.place.mkdir("deploy");

  constructor(answer: ConstructorParameters<typeof Site>[0] = heronPage) {
    this.site = new Site(answer);
    const line = "echo begun >>begun; while [ ! -f go ]; do sleep 0.05; done";
    const health_url = `${this.site.origin}/`;
    writePolicy(this.place, {
      deploy_targets: [shellTarget("held", this.dir, line, { health_url })],
    });
  }

  serve(args = ARGS): Promise<Hire> {
    return Hire.serve(this.place, { args });
  }

  /** What a short task is asked for with. */
  get research() {
    return { task_type: "research", query: "heron", extra: { urls: [`${this.site.origin}/`] } };
  }

  readonly held = { task_type: "deploy", effort: "minimal", extra: { target: "held" } };

  /** Waits until the deployment has begun so many times. */
  async begun(times = 1): Promise<void> {
    const path = join(this.dir, "begun");
    const count = () => exists(path) ? Deno.readTextFileSync(path).split("\n").length - 1 : 0;
    assert(await eventually(() => count() >= times, PATIENCE_MS), "the deployment does not begin");
  }

  letGo(): void {
    Deno.writeTextFileSync(join(this.dir, "go"), "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    await this.site[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

/** A stream's last word about its task, and what the artifacts were called on the way. */
async function drain(events: AsyncIterable<StreamResponse>) {
  const seen: string[] = [];
  const artifacts: string[] = [];
  let state: TaskState | undefined;
  const each = events[Symbol.asyncIterator]();
  for (let next; !(next = await deadline(each.next(), PATIENCE_MS)).done;) {
    const { payload } = next.value;
    seen.push(payload!.$case);
    if (payload?.$case === "artifactUpdate") artifacts.push(payload.value.artifact!.artifactId);
    if (payload?.$case === "statusUpdate") state = payload.value.status!.state;
  }
  return { seen, artifacts, state };
}

async function stateOf(client: Client, id: string): Promise<TaskState> {
  return (await client.getTask({ tenant: "", id })).status!.state;
}

Deno.test({
  name: "the card is public, valid in both versions, and says what is offered",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using hire = await yard.serve(["--caps", "research,code"]);
    for (const version of A2A_VERSIONS) {
      const headers: Record<string, string> = version === "0.3" ? {} : { "a2a-version": version };
      const { status, json } = await hire.request("GET", CARD, { token: null, headers });
      assertEquals(status, 200);
      const card = CARDS[version].parse(json);
      assertEquals(card.skills.map(({ id }) => id), ["research", "code"]);
      for (const { url } of card.supportedInterfaces) assertEquals(url, `${hire.url}/a2a`);
      assertEquals(Object.keys(card.securitySchemes!), ["svcToken", "bearer"]);
      if (version !== "1.0") continue;
      // The SDK knows all of it; empty lists it leaves out.
      const { securityRequirements } = json;
      const known = AgentCard.toJSON(AgentCard.fromJSON(json));
      assertEquals({ ...known as typeof json, securityRequirements }, json);
    }
    const { headers } = await hire.request("GET", CARD, { token: null });
    assertStringIncludes(headers.get("vary")!, "A2A-Version");
  },
});

Deno.test({
  name: "a card for each version alone, at each address where clients look for one",
  ignore,
  async fn() {
    await using place = new Place();
    await using hire = await Hire.serve(place);
    const card = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await hire.request("GET", path, { token: null, headers });
      assertEquals(answer.status, 200, path);
      return answer.json;
    };
    const both = await card(CARD);
    const same = ["/.well-known/agent.json", `${CARD}/`, "/a2a/.well-known/agent-card.json"];
    for (const path of same) assertEquals(await card(path), both);
    // A version that is not supported is told which are.
    assertEquals(await card(CARD, { "a2a-version": "99.0" }), both);
    assertEquals(CARDS["0.3"].parse(both).supportedInterfaces.length, 2);

    const { "1.0": shape } = CARDS;
    for (
      const [path, asked, url] of [
        [CARD, "1.0", "/a2a"],
        [`${CARD}?A2A-Version=1.0`, "", "/a2a"],
        [`/a2a/1.0${CARD}`, "", "/a2a/1.0"],
        ["/a2a/1.0/.well-known/agent.json", "0.3", "/a2a/1.0"],
      ]
    ) {
      const json = await card(path, asked === "" ? {} : { "a2a-version": asked });
      assertEquals(shape.parse(json).supportedInterfaces, [
        { url: `${hire.url}${url}`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      ]);
      assertEquals([json.protocolVersion, json.url], [undefined, undefined]);
    }
    for (
      const [path, asked, url] of [
        [CARD, "0.3.0", "/a2a"],
        [`/a2a/0.3${CARD}`, "", "/a2a/0.3"],
      ]
    ) {
      const json = await card(path, asked === "" ? {} : { "a2a-version": asked });
      const expected = ["0.3.0", `${hire.url}${url}`, undefined];
      assertEquals([json.protocolVersion, json.url, json.supportedInterfaces], expected);
    }
  },
});

Deno.test({
  name: "a card that the client has is not sent again",
  ignore,
  async fn() {
    await using place = new Place();
    await using hire = await Hire.serve(place);
    const get = (headers: Record<string, string> = {}) =>
      hire.request("GET", CARD, { token: null, headers });
    const { headers } = await get();
    const etag = headers.get("etag")!;
    assertStringIncludes(headers.get("cache-control")!, "max-age=");
    assert(Date.parse(headers.get("last-modified")!) <= Date.now());
    const strong = etag.replace("W/", "");
    for (const tag of [etag, `"x", ${etag}`, strong, "*"]) {
      const { status, text, headers } = await get({ "if-none-match": tag });
      assertEquals([status, text, headers.get("etag")], [304, "", etag], tag);
    }
    for (const tag of ['"x"', "", strong.slice(1, -1)]) {
      assertEquals((await get({ "if-none-match": tag })).status, 200, tag);
    }
    const other = await get({ "if-none-match": etag, "a2a-version": "1.0" });
    assertEquals(other.status, 200, "a card of another version is another card");
    const elsewhere = await hire.request("GET", "/api/capabilities");
    assertEquals(elsewhere.headers.get("cache-control"), "no-store");
  },
});

Deno.test({
  name: "without tokens the card asks for none, and there is nothing to sign notifications with",
  ignore,
  async fn() {
    await using yard = new Yard();
    const args = ["--public-url", "https://agents.example.org/svc/", ...ARGS];
    await using hire = await Hire.serve(yard.place, { args, tokens: [] });
    const headers = { "a2a-version": "1.0" };
    const { json } = await hire.request("GET", CARD, { headers });
    const card = CARDS["1.0"].parse(json);
    assertEquals([card.securitySchemes, card.capabilities.pushNotifications], [undefined, false]);
    assertEquals(card.supportedInterfaces[0].url, "https://agents.example.org/svc/a2a");
    const params = { taskId: "t-none" };
    const body = { jsonrpc: "2.0", id: 1, method: "ListTaskPushNotificationConfigs", params };
    assertEquals((await hire.request("POST", "/a2a", { body })).json.error.code, -32003);
  },
});

for (const version of A2A_VERSIONS) {
  Deno.test({
    name: `A2A ${version}: tasks complete, stream, are asked for again and cancelled`,
    ignore,
    async fn() {
      await using yard = new Yard();
      await using hire = await yard.serve();
      const client = await a2aClient(hire.url, { version });

      const done = await ask(client, toSend(yard.research, { contextId: "birds" }));
      assertEquals([done.status!.state, done.contextId], [TaskState.TASK_STATE_COMPLETED, "birds"]);
      assertEquals(done.artifacts.map(({ artifactId }) => artifactId), ["report.md"]);
      assertStringIncludes(JSON.stringify(done.artifacts[0]), "strikes");
      assertEquals(done.metadata!.usage.sources, 1);
      assert(done.metadata!.verification.length > 1);
      assertStringIncludes(JSON.stringify(done.history[0]), "Have a look");
      const record = (await hire.request("GET", `/api/task/${done.id}`)).json;
      assertEquals(record.status, "completed");
      const brief = await client.getTask({ tenant: "", id: done.id, historyLength: 1 });
      assertEquals(brief.history.map(({ messageId }) => messageId), [
        done.history.at(-1)!.messageId,
      ]);

      const streamed = await drain(client.sendMessageStream(toSend(yard.research)));
      assertEquals(streamed.seen[0], "task");
      assertEquals(streamed.artifacts, ["report.md"]);
      assertEquals(streamed.state, TaskState.TASK_STATE_COMPLETED);

      const configuration = { returnImmediately: true };
      const { id } = await ask(client, toSend(yard.held, { configuration }));
      await yard.begun();
      assertEquals(await stateOf(client, id), TaskState.TASK_STATE_WORKING);
      const cancelled = await client.cancelTask({ tenant: "", id, metadata: undefined });
      assertEquals(cancelled.status!.state, TaskState.TASK_STATE_CANCELED);
      const params = { tenant: "", id: done.id, metadata: undefined };
      await assertRejects(() => client.cancelTask(params), TaskNotCancelableError);
      await assertRejects(() => drain(client.resubscribeTask(params)), UnsupportedOperationError);
      const unknown = { tenant: "", id: "t-01ARZ3NDEKTSV4RRFFQ69G5FAV" };
      await assertRejects(() => client.getTask(unknown), TaskNotFoundError);
    },
  });
}

Deno.test({
  name: "a client that leaves cancels nothing, and resubscribes, also after a SIGKILL",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using first = await yard.serve();
    const client = await a2aClient(first.url);
    const stop = new AbortController();
    const stream = client.sendMessageStream(toSend(yard.held), { signal: stop.signal });
    const { id } = await firstTask(stream);
    await yard.begun();
    stop.abort();
    await stream.return(undefined);

    const waiting = new AbortController();
    const again = client.resubscribeTask({ tenant: "", id }, { signal: waiting.signal });
    assertEquals((await firstTask(again)).status!.state, TaskState.TASK_STATE_WORKING);
    await first.kill();
    await assertRejects(() => drain(again));

    await using second = await yard.serve();
    const anew = await a2aClient(second.url);
    const resumed = anew.resubscribeTask({ tenant: "", id });
    assertEquals((await firstTask(resumed)).id, id);
    // The command of the killed svc still deploys: the next one begins after its end.
    yard.letGo();
    await yard.begun(2);
    assertEquals((await drain(resumed)).state, TaskState.TASK_STATE_COMPLETED);
  },
});

Deno.test({
  name: "a client that no longer waits for its answer cancels nothing",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using hire = await yard.serve();
    const client = await a2aClient(hire.url);
    const stop = new AbortController();
    const message = toSend(yard.held);
    const asking = client.sendMessage(message, { signal: stop.signal });
    await yard.begun();
    stop.abort();
    await assertRejects(() => asking);
    yard.letGo();
    // The same message is the same task.
    assertEquals((await ask(client, message)).status!.state, TaskState.TASK_STATE_COMPLETED);
    assertEquals((await client.listTasks(LISTED)).totalSize, 1);
  },
});

const LISTED = ListTasksRequest.fromJSON({});

Deno.test({
  name: "a message is carried out once for its sender; each lists the tasks of its own",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using hire = await yard.serve();
    const [client, other] = await Promise.all(
      TOKENS.map((token) => a2aClient(hire.url, { token })),
    );
    const message = toSend(yard.research, { contextId: "birds" });
    const ids = await Promise.all([1, 2, 3].map(async () => (await ask(client, message)).id));
    assertEquals(new Set(ids).size, 1);
    const elsewise = toSend({ ...yard.research, query: "stork" }, { messageId: ids[0] });
    const { id: second } = await ask(client, elsewise);
    const { id: foreign } = await ask(other, message);
    assertEquals(new Set([ids[0], second, foreign]).size, 3);

    const listed = async (of: Client, more: Record<string, unknown> = {}) => {
      const { tasks, nextPageToken, totalSize } = await of.listTasks({ ...LISTED, ...more });
      return { ids: tasks.map(({ id }) => id), nextPageToken, totalSize };
    };
    assertEquals((await listed(other)).ids, [foreign]);
    assertEquals((await listed(client, { contextId: "birds" })).ids, [ids[0]]);
    assertEquals((await listed(client, { status: TaskState.TASK_STATE_FAILED })).ids, []);
    const page = await listed(client, { pageSize: 1 });
    assertEquals([page.ids, page.totalSize], [[second], 2]);
    const next = await listed(client, { pageSize: 1, pageToken: page.nextPageToken });
    assertEquals([next.ids, next.nextPageToken], [[ids[0]], ""]);
  },
});

/** A receiver of notifications, which refuses the first. */
function receiver() {
  const came: { headers: Headers; body: string }[] = [];
  const answer = async (url: URL, request: Request) => {
    if (url.pathname !== "/told") return heronPage();
    came.push({ headers: request.headers, body: await request.text() });
    return new Response(null, { status: came.length === 1 ? 503 : 200 });
  };
  return { came, answer };
}

for (const version of A2A_VERSIONS) {
  Deno.test({
    name: `A2A ${version}: push notifications come signed, also after a SIGKILL`,
    ignore,
    fn: () => notified(version),
  });
}

async function notified(version: A2aVersion): Promise<void> {
  const { came, answer } = receiver();
  await using yard = new Yard(answer);
  await using first = await yard.serve();
  const client = await a2aClient(first.url, { version });
  const config = {
    tenant: "",
    id: "mine",
    taskId: "",
    url: `${yard.site.origin}/told`,
    token: "known-by",
    authentication: { scheme: "Bearer", credentials: "of-the-receiver" },
  };
  const configuration = { returnImmediately: true, taskPushNotificationConfig: config };
  const { id } = await ask(client, toSend(yard.held, { configuration }));
  const second = { ...config, taskId: id, id: "more" };
  assertEquals((await client.createTaskPushNotificationConfig(second)).id, "more");
  const named = { tenant: "", taskId: id, id: "mine" };
  const got = await client.getTaskPushNotificationConfig(named);
  assertEquals([got.url, got.token, got.authentication], [
    config.url,
    config.token,
    config.authentication,
  ]);
  const page = { tenant: "", taskId: id, pageSize: 0, pageToken: "" };
  const { configs } = await client.listTaskPushNotificationConfig(page);
  assertEquals(configs.map((it) => it.id), ["mine", "more"]);
  // Nobody else sees where its owner wants to be told.
  const other = await a2aClient(first.url, { version, token: TOKENS[1] });
  await assertRejects(() => other.listTaskPushNotificationConfig(page), TaskNotFoundError);
  for (let n = 0; n < 2; n++) {
    await client.deleteTaskPushNotificationConfig({ ...named, id: "more" });
  }
  await assertRejects(
    () => client.getTaskPushNotificationConfig({ ...named, id: "more" }),
    TaskNotFoundError,
  );

  await yard.begun();
  await first.kill();
  await using _second = await yard.serve();
  yard.letGo();
  assert(await eventually(() => came.length === 2, PATIENCE_MS), "no notification");
  const [{ headers, body }] = came.slice(-1);
  assertEquals(headers.get("x-a2a-notification-token"), "known-by");
  assertEquals(headers.get("authorization"), "Bearer of-the-receiver");
  const signed = `${id}.${headers.get("webhook-timestamp")}.${body}`;
  const signature = createHmac("sha256", TOKENS[0]).update(signed).digest("base64");
  assertEquals(headers.get("webhook-signature"), `v1,${signature}`);
  const told = JSON.parse(body);
  const task = version === "1.0" ? told.task : told;
  assertEquals([task.id, task.status.state], [
    id,
    version === "1.0" ? "TASK_STATE_COMPLETED" : "completed",
  ]);
}

Deno.test({
  name: "notifications go to no private address",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using hire = await yard.serve([]);
    const client = await a2aClient(hire.url);
    const url = `${yard.site.origin}/told`;
    const config = { tenant: "", id: "", taskId: "", url, token: "", authentication: undefined };
    const configuration = { taskPushNotificationConfig: config };
    const { id, status } = await ask(client, toSend(yard.research, { configuration }));
    assertEquals(status!.state, TaskState.TASK_STATE_FAILED);
    const log = async () => {
      const { stdout } = await yard.place.svc(["ctl", "wal", "--json"]);
      const { entries } = JSON.parse(stdout);
      return entries.find((it: { task_id?: string; event: string }) =>
        it.task_id === id && it.event === "callback_failed"
      );
    };
    assert(await eventually(async () => (await log()) !== undefined, PATIENCE_MS));
    assertStringIncludes((await log()).detail, "127.0.0.1 is not a public address");
    assertEquals(yard.site.asked, []);
  },
});
