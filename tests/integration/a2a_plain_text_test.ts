/** Hired over A2A by hosts that send nothing but plain text. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { ListTasksRequest, Role, type SendMessageRequest, type Task, TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { A2A_VERSIONS } from "../../src/features/hire/a2a/card.ts";
import { eventually } from "../contract/shared.ts";
import { a2aClient, ask, firstTask, type MessageOptions, newPart, toSend } from "../support/a2a.ts";
import { Hire, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { heronPage, Site } from "../support/site.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;
const PATIENCE_MS = 60_000;
const LISTED = ListTasksRequest.fromJSON({});

/** A place with a site, a target that can be deployed, and what was sent to the site. */
class Yard implements AsyncDisposable {
  readonly place = new Place();
  readonly reports: string[] = [];
  readonly site = new Site(async (url, request) => {
    if (url.pathname !== "/report") return heronPage();
    this.reports.push(await request.text());
    return new Response();
  });
  readonly page = `${this.site.origin}/`;

  constructor() {
    const health_url = this.page;
    const dir = this.place.mkdir("deploy");
    const line = `echo x >>${join(dir, "runs")}`;
    writePolicy(this.place, {
      deploy_targets: [shellTarget("staging", dir, line, { health_url })],
    });
  }

  serve(): Promise<Hire> {
    return Hire.serve(this.place, { args: ["--allow-private"] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.site[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

/** A message of one text. */
function text(value: string, options: MessageOptions = {}): SendMessageRequest {
  return toSend({}, { parts: [newPart({ $case: "text", value })], ...options });
}

/** An answer to the question of a task. */
function reply({ id }: Task, value: string, options: MessageOptions = {}): SendMessageRequest {
  return text(value, { taskId: id, ...options });
}

function questionOf({ status }: Task): string {
  assertEquals(status!.state, TaskState.TASK_STATE_INPUT_REQUIRED);
  return textOf(status!.message!);
}

function textOf({ parts }: { parts: Task["history"][number]["parts"] }): string {
  return parts.map(({ content }) => content?.$case === "text" ? content.value : "").join("");
}

async function listed(client: Client, status: TaskState): Promise<string[]> {
  return (await client.listTasks({ ...LISTED, status })).tasks.map(({ id }) => id);
}

for (const version of A2A_VERSIONS) {
  Deno.test({
    name: `A2A ${version}: plain text is a task where it says enough, or else a question`,
    ignore,
    async fn() {
      await using yard = new Yard();
      await using hire = await yard.serve();
      const client = await a2aClient(hire.url, { version });

      const done = await ask(client, text(`What does a heron do? See ${yard.page}.`));
      assertEquals(done.status!.state, TaskState.TASK_STATE_COMPLETED);
      assertEquals(done.metadata!.task_type, "research");
      const deployed = await ask(client, text("Please deploy staging."));
      assertEquals(deployed.status!.state, TaskState.TASK_STATE_COMPLETED);

      const asked = await ask(client, text("Hello from a host", { contextId: "talk" }));
      for (const skill of ["research", "browser", "deploy", "code"]) {
        assertStringIncludes(questionOf(asked), skill);
      }
      const again = await ask(client, reply(asked, "Fix the failing test"));
      assertEquals([again.id, again.contextId], [asked.id, "talk"]);
      assertStringIncludes(questionOf(again), "extra.repo");
      assertEquals(again.history.map(textOf), [
        "Hello from a host",
        questionOf(asked),
        "Fix the failing test",
      ]);
      const last = await ask(client, reply(asked, `research: what does a heron do? ${yard.page}`));
      assertEquals([last.id, last.status!.state], [asked.id, TaskState.TASK_STATE_COMPLETED]);
      assertEquals(last.history.slice(0, 4).map(({ role }) => role), [
        Role.ROLE_USER,
        Role.ROLE_AGENT,
        Role.ROLE_USER,
        Role.ROLE_AGENT,
      ]);
      const late = client.sendMessage(reply(asked, "And a stork?"));
      await assertRejects(() => late, UnsupportedOperationError);

      const stream = client.sendMessageStream(text("Hello again"));
      assertStringIncludes(questionOf(await firstTask(stream)), "What should I do?");
      assertEquals((await stream.next()).done, true, "nothing follows until it is answered");
    },
  });
}

Deno.test({
  name: "a question outlives a SIGKILL, and each message counts once",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using first = await yard.serve();
    const hello = text("Hello there");
    const config = {
      tenant: "",
      id: "end",
      taskId: "",
      url: `${yard.site.origin}/report`,
      token: "",
      authentication: undefined,
    };
    hello.configuration!.taskPushNotificationConfig = config;
    const before = await a2aClient(first.url);
    const asked = await ask(before, hello);
    const more = { ...config, taskId: asked.id, id: "more" };
    await before.createTaskPushNotificationConfig(more);
    await first.kill();

    await using second = await yard.serve();
    const client = await a2aClient(second.url);
    assertEquals((await client.getTask({ tenant: "", id: asked.id })).status, asked.status);
    assertEquals(await listed(client, TaskState.TASK_STATE_INPUT_REQUIRED), [asked.id]);
    assertEquals((await ask(client, { ...hello, metadata: { again: 1 } })).id, asked.id);
    const page = { tenant: "", taskId: asked.id, pageSize: 0, pageToken: "" };
    const { configs } = await client.listTaskPushNotificationConfig(page);
    assertEquals(configs.map(({ id }) => id), ["end", "more"]);

    // Two hosts answer at once: one of them completes it.
    const answers = ["one", "two"].map((messageId) =>
      reply(asked, `What does a heron do? ${yard.page}`, { messageId })
    );
    const settled = await Promise.allSettled(answers.map((it) => ask(client, it)));
    assertEquals(settled.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const [refusal] = settled.flatMap((it) => it.status === "rejected" ? [it.reason] : []);
    assert(refusal instanceof UnsupportedOperationError, String(refusal));
    const winner = answers[settled.findIndex(({ status }) => status === "fulfilled")];
    const done = await ask(client, winner);
    assertEquals([done.id, done.status!.state], [asked.id, TaskState.TASK_STATE_COMPLETED]);
    assertEquals((await ask(client, hello)).id, asked.id);
    // The same id is the same message, whatever else it says.
    const { messageId } = hello.message!;
    assertEquals((await ask(client, text("Deploy staging", { messageId }))).id, asked.id);
    assertEquals((await client.listTasks(LISTED)).totalSize, 1);
    assert(await eventually(() => yard.reports.length === 2, PATIENCE_MS), "no notifications");
  },
});

Deno.test({
  name: "a question is its client's alone, and can be cancelled",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using hire = await yard.serve();
    const [client, other] = await Promise.all(
      TOKENS.map((token) => a2aClient(hire.url, { token })),
    );
    const hello = text("Hello there", { contextId: "mine" });
    const asked = await ask(client, hello);
    const { id } = asked;
    const params = { tenant: "", id, metadata: undefined };
    for (
      const attempt of [
        () => other.getTask(params),
        () => other.cancelTask(params),
        () => other.sendMessage(reply(asked, "Deploy staging")),
        () => other.resubscribeTask(params).next(),
        () =>
          other.listTaskPushNotificationConfig({
            ...params,
            taskId: id,
            pageSize: 0,
            pageToken: "",
          }),
      ]
    ) {
      await assertRejects(attempt, TaskNotFoundError);
    }
    assertEquals((await other.listTasks(LISTED)).totalSize, 0);
    // The other client's message of that id is its own.
    assert((await ask(other, hello)).id !== id);
    const elsewhere = reply(asked, "Deploy staging", { contextId: "other" });
    await assertRejects(() => client.sendMessage(elsewhere), Error, "contextId");
    assertEquals((await client.getTask(params)).status, asked.status);

    const { id: done } = await ask(client, text("Deploy staging"));
    for (let n = 0; n < 2; n++) {
      const { status } = await client.cancelTask(params);
      assertEquals(status!.state, TaskState.TASK_STATE_CANCELED);
    }
    await assertRejects(
      () => client.sendMessage(reply(asked, "Deploy staging")),
      UnsupportedOperationError,
    );
    await assertRejects(() => client.resubscribeTask(params).next(), UnsupportedOperationError);
    assertEquals(await listed(client, TaskState.TASK_STATE_CANCELED), [id]);
    assertEquals(await listed(client, TaskState.TASK_STATE_INPUT_REQUIRED), []);
    const all = await client.listTasks({ ...LISTED, pageSize: 1 });
    assertEquals([all.tasks[0].id, all.totalSize], [id, 2]);
    const rest = await client.listTasks({ ...LISTED, pageSize: 1, pageToken: all.nextPageToken });
    assertEquals([rest.tasks[0].id, rest.nextPageToken], [done, ""]);
  },
});

Deno.test({
  name: "a task says its answer once",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using hire = await yard.serve();
    const client = await a2aClient(hire.url);
    const said: string[] = [];
    let artifacts = 0;
    for await (const { payload } of client.sendMessageStream(text(`What is it? ${yard.page}`))) {
      if (payload?.$case === "artifactUpdate") {
        artifacts++;
        said.push(textOf(payload.value.artifact!));
      }
      const message = payload?.$case === "statusUpdate" ? payload.value.status!.message : undefined;
      if (message !== undefined) said.push(textOf(message));
    }
    assert(artifacts > 0);
    assertEquals(new Set(said).size, said.length, JSON.stringify(said));
  },
});

Deno.test({
  name: "hostile text becomes no task, and no endless draft",
  ignore,
  async fn() {
    await using yard = new Yard();
    await using hire = await yard.serve();
    const send = async (value: string, more: Record<string, unknown> = {}) => {
      const message = {
        messageId: crypto.randomUUID(),
        role: 1,
        parts: [{ text: value }],
        ...more,
      };
      const body = { jsonrpc: "2.0", id: 7, method: "SendMessage", params: { message } };
      return (await hire.request("POST", "/a2a", { body })).json;
    };
    for (const value of ["x".repeat(70_000), "\0".repeat(20_000)]) {
      const { error, id } = await send(value);
      assertEquals([error?.code, id], [-32602, 7]);
    }
    const { result: { task } } = await send("Hello \0\u001b[2J\u202e");
    assertEquals(task.status.state, "TASK_STATE_INPUT_REQUIRED");
    for (const value of ["", " \n", "deploy ../../etc/passwd", "Deploy $(reboot)", "deploy *"]) {
      const { result, error } = await send(value, { taskId: task.id });
      assertEquals([error, result?.task.status.state], [undefined, "TASK_STATE_INPUT_REQUIRED"]);
    }
    for (const taskId of ["t-", "../state.db", "' OR 1=1 --", "t-01ARZ3NDEKTSV4RRFFQ69G5FAV"]) {
      assertEquals((await send("Deploy staging", { taskId })).error.code, -32001, taskId);
    }
    let problem: { code: number } | undefined;
    for (let n = 0; n < 10 && problem === undefined; n++) {
      problem = (await send("x".repeat(10_000), { taskId: task.id })).error;
    }
    assertEquals(problem?.code, -32602, "a conversation has an end");
    const { stdout } = await yard.place.svc(["task", "list", "--json"]);
    assertEquals(JSON.parse(stdout).tasks, []);
  },
});
