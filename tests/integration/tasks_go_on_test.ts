/** A queued code task whose daemon stops, is killed or restarts goes on where it was. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import type { TaskLogEntry, TaskRecord } from "../../src/features/tasks/task.ts";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { freePort } from "../support/free_port.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { Repository } from "../support/repository.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";

const command = (line: string) => ({ name: "run_command", args: { command: line } });

const stop = (grace_s: number) => async (it: Scenario) => {
  await it.client.rpc.call("daemon.shutdown", { grace_s });
  assertEquals((await it.daemon.ended()).code, 0);
};

/** Ends of a daemon. */
const WAYS: Record<string, (it: Scenario) => Promise<void>> = {
  "a kill": (it) => it.daemon.kill(),
  "a stop": stop(1),
  "a stop without grace": stop(0),
};

/** Starts the next daemon. The session of the scenario is no task. */
async function next(it: Scenario, ...args: string[]): Promise<void> {
  await it.client[Symbol.asyncDispose]();
  it.daemon = await it.place.serve(...args);
  it.client = await it.daemon.rpc();
}

async function enqueue(it: Scenario, extra: Record<string, unknown>, more = {}): Promise<string> {
  const params = {
    task_type: "code",
    description: "do it",
    extra: { model: it.model, ...extra },
    ...more,
  };
  return (await it.client.rpc.call("queue.enqueue", params)).id;
}

async function ended(it: Scenario, task_id: string): Promise<TaskRecord> {
  let task!: TaskRecord;
  await until(async () => {
    task = await it.client.rpc.call("task.get", { task_id });
    return task.status === "completed" || task.status === "failed";
  }, "the end of the task");
  return task;
}

async function notes(it: Scenario, task_id: string): Promise<string[]> {
  const { entries } = await it.client.rpc.call("queue.wal", { n: 1_000 });
  return (entries as TaskLogEntry[]).filter((line) => line.task_id === task_id)
    .map(({ event, detail }) => event === "note" ? `${detail}` : event)
    .map((line) => line.replace(/sess_\w+/, "S"));
}

const read = (path: string) => Deno.readTextFileSync(path);

function there(path: string): boolean {
  try {
    return Deno.statSync(path) !== undefined;
  } catch {
    return false;
  }
}

/** The states of the sessions of tasks, when none is being ended. */
async function states(it: Scenario): Promise<string[]> {
  let found: string[] = [];
  await until(async () => {
    found = (await sessions(it)).map(({ state }) => state);
    return found.every((state) => state === "ended");
  }, "each session has ended");
  return found;
}

/** The patch that a task made. */
async function changesOf(it: Scenario, task_id: string): Promise<string> {
  const { url, token } = it.daemon;
  const response = await fetch(`${url}/v1/tasks/${task_id}/artifacts/changes.diff`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return await response.text();
}

/** The sessions of tasks, with those that have ended. */
async function sessions(it: Scenario): Promise<{ id: string; state: string; workdir: string }[]> {
  const { sessions } = await it.client.rpc.call("session.list", { include_ended: true });
  return sessions.filter(({ title }: { title: string }) => title.startsWith("task "));
}

/** Holds back the last answer of each turn. */
class Gate implements AsyncDisposable {
  on = false;
  #waiting = 0;

  async pass(): Promise<void> {
    this.#waiting++;
    await until(() => this.on, "the model goes on").finally(() => this.#waiting--);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.on = true;
    await until(() => this.#waiting === 0, "no answer is held back");
  }
}

/** What a model says that meets a criterion only when it was told that it did not. */
function script(go: Gate): Scripted {
  return async ({ messages }): Promise<Answer> => {
    const prompts = messages.filter(({ role }) => role === "user").length;
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const answers = messages.slice(asked).filter(({ role }) => role === "assistant").length;
    if (answers === 0) {
      return { calls: [command(`echo ${prompts} >> effects.txt`)] };
    }
    if (answers === 1 && prompts === 2) return { calls: [command("echo good > result.txt")] };
    await go.pass();
    return { text: `Done ${prompts}.` };
  };
}

const CRITERION = {
  id: "c1",
  description: "the result is good",
  command: "echo >> checks; until [ -e checked ]; do sleep 0.05; done; grep good result.txt",
};

for (const [way, end] of Object.entries(WAYS)) {
  for (const place of ["a directory", "a clone"]) {
    Deno.test({
      name: `a task in ${place} goes on over ${way}: in an answer, in a check, and in a repair`,
      ignore,
      async fn() {
        await using go = new Gate();
        await using it = await Scenario.begin(script(go));
        using repo = new Repository({
          "a.txt": "a\n",
          ".gitignore": "effects.txt\nchecks\nchecked\n",
        });
        const extra = {
          ...(place === "a clone" ? { repo: repo.root } : { workdir: repo.root }),
          acceptance_criteria: [CRITERION],
        };
        const task_id = await enqueue(it, extra, { effort: "standard", max_attempts: 9 });
        await until(() => it.asked.length === 2, "the answer after the command");
        const [{ workdir }] = await sessions(it);
        const checks = join(workdir, "checks");

        await end(it);
        await next(it);
        await until(() => it.asked.length === 3, "the answer is asked for again");
        go.on = true;
        await until(() => there(checks), "the check");

        await end(it);
        await next(it);
        await until(() => read(checks) === "\n\n", "the check is made again");
        go.on = false;
        Deno.writeTextFileSync(join(workdir, "checked"), "");
        await until(() => it.asked.length === 6, "the answer after the repair");

        await end(it);
        await next(it);
        go.on = true;
        const task = await ended(it, task_id);
        assertEquals([task.status, task.summary, task.error], ["completed", "Done 2.", undefined]);
        const steps = await notes(it, task_id);
        const count = (start: string) => steps.filter((line) => line.startsWith(start)).length;
        assertEquals([count("session S"), count("session S goes on"), count("repair ")], [4, 3, 1]);
        assertEquals(task.attempts, way === "a kill" ? 4 : 1);
        assertEquals(await states(it), ["ended"]);
        assertEquals(task.usage?.turns, 2);
        assertStringIncludes(await changesOf(it, task_id), "+good");
        // Each request has the prompt of the first attempt, with its canary.
        const prompts = it.asked.map((messages) => messages.find(({ role }) => role === "user"));
        assertEquals(new Set(prompts.map((prompt) => JSON.stringify(prompt))).size, 1);
        if (place === "a clone") await until(() => !there(workdir), "the clone is gone");
        else assertEquals(read(join(workdir, "effects.txt")), "1\n2\n");
      },
    });
  }
}

Deno.test({
  name: "a task begins anew if its turns may not go on, or if its directory is gone",
  ignore,
  async fn() {
    for (const never of [true, false]) {
      await using go = new Gate();
      const toml = never ? `[agent]\ncontinue = "never"\n` : "";
      await using it = await Scenario.begin(script(go), { toml });
      using repo = new Repository({ "a.txt": "a\n" });
      const extra = never ? { workdir: repo.root } : { repo: repo.root };
      const task_id = await enqueue(it, extra);
      await until(() => it.asked.length === 2, "the answer after the command");
      const [{ workdir }] = await sessions(it);
      await it.daemon.kill();
      if (!never) await Deno.remove(workdir, { recursive: true });
      await next(it);
      go.on = true;
      const task = await ended(it, task_id);
      assertEquals([task.status, task.summary, task.attempts], ["completed", "Done 1.", 2]);
      assertEquals(await states(it), ["ended", "ended"]);
      const steps = await notes(it, task_id);
      assertEquals(steps.filter((line) => line === "session S").length, 2);
      if (never) assertEquals(read(join(workdir, "effects.txt")), "1\n1\n");
    }
  },
});

Deno.test({
  name: "a task that is cancelled before it goes on leaves neither session nor directory",
  ignore,
  async fn() {
    await using go = new Gate();
    await using it = await Scenario.begin(script(go));
    using repo = new Repository({ "a.txt": "a\n" });
    const task_id = await enqueue(it, { repo: repo.root });
    await until(() => it.asked.length === 2, "the answer after the command");
    const [{ workdir }] = await sessions(it);
    await it.client.rpc.call("queue.pause");
    await stop(0)(it);
    await next(it);
    assert(there(workdir));
    assertEquals((await sessions(it)).map(({ state }) => state === "ended"), [false]);
    await it.client.rpc.call("task.cancel", { task_id });
    assertEquals((await sessions(it)).map(({ state }) => state), ["ended"]);
    assert(!there(workdir));
    assertEquals(it.asked.length, 2);
  },
});

Deno.test({
  name: "a task whose queue is paused does not go on, over two restarts and the end of its limit",
  ignore,
  async fn() {
    const limited: Answer = {
      status: { code: 429, message: "used up", headers: { "retry-after": "3" } },
    };
    const steps = [{ calls: [command("echo 1 >> effects.txt")] }, limited, { text: "Done." }];
    await using it = await Scenario.begin(steps, { toml: '[agent]\npark_after = "1s"\n' });
    const task_id = await enqueue(it, { workdir: it.workdir });
    let until_ms = 0;
    await until(async () => {
      const { sessions } = await it.client.rpc.call("session.list");
      until_ms = Date.parse(
        sessions.find((one: { parked_until?: string }) => one.parked_until)
          ?.parked_until ?? "",
      );
      return until_ms > 0;
    }, "the turn is parked");
    await it.client.rpc.call("queue.pause");
    for (const end of [stop(0), WAYS["a kill"]]) {
      await end(it);
      await next(it);
      await until(() => Date.now() > until_ms, "the limit has ended");
      // What would take it up has looked by then.
      await delay(1_000);
      assertEquals(it.asked.length, 2);
    }
    await it.client.rpc.call("queue.resume");
    const { status, summary, usage } = await ended(it, task_id);
    assertEquals([status, summary, usage?.turns], ["completed", "Done.", 1]);
    assertEquals(it.asked.length, 3);
    assertEquals(read(join(it.workdir, "effects.txt")), "1\n");
    assertEquals(await states(it), ["ended"]);
  },
});

Deno.test({
  name: "only its attempts bound how many crashes in a row a task goes on after",
  ignore,
  async fn() {
    await using go = new Gate();
    await using it = await Scenario.begin(script(go));
    const task_id = await enqueue(it, { workdir: it.workdir }, { max_attempts: 9 });
    for (let asked = 2; asked < 7; asked++) {
      await until(() => it.asked.length === asked, "the answer after the command");
      await it.daemon.kill();
      await next(it);
    }
    go.on = true;
    const { status, summary, attempts } = await ended(it, task_id);
    assertEquals([status, summary, attempts], ["completed", "Done 1.", 6]);
    assertEquals(read(join(it.workdir, "effects.txt")), "1\n");
    assertEquals(await states(it), ["ended"]);
  },
});

for (const way of ["ok", "error"]) {
  Deno.test({
    name: `a task whose turn ended ("${way}") ends so, though its daemon was killed before it knew`,
    ignore,
    async fn() {
      await using go = new Gate();
      const refused: Answer = { status: { code: 400, message: "no such thing" } };
      await using it = await Scenario.begin(async (request) => {
        const answer = await script(go)(request);
        return answer.text !== undefined && way === "error" ? refused : answer;
      });
      const task_id = await enqueue(it, { workdir: it.workdir });
      await until(() => it.asked.length === 2, "the answer after the command");
      const [{ id }] = await sessions(it);
      const journal = join(it.workdir, ".svc", "sessions", id, "journal.ndjson");
      {
        // The end of the task cannot be recorded meanwhile.
        using db = new DatabaseSync(join(it.place.home, "state.db"));
        db.exec("BEGIN EXCLUSIVE");
        go.on = true;
        await until(() => read(journal).includes('"turn.completed"'), "the end of the turn");
        await delay(500);
        await it.daemon.kill();
      }
      await next(it);
      const { status, summary, error } = await ended(it, task_id);
      assertEquals(
        [status, summary],
        way === "ok" ? ["completed", "Done 1."] : ["failed", undefined],
      );
      if (way === "error") assertMatch(error!, /no such thing/);
      assertEquals(await states(it), ["ended"]);
      assertEquals(read(join(it.workdir, "effects.txt")), "1\n");
      assertEquals(it.asked.length, 2);
    },
  });
}

const HIRER = "token-of-the-hirer";

Deno.test({
  name: "a hired task goes on with the rights it had, and not where it may no longer work",
  ignore: ignore || !has_bubblewrap,
  async fn() {
    for (const offered of [true, false]) {
      await using go = new Gate();
      const leaks: Scripted = async (request) => {
        const answer = await script(go)(request);
        if (answer.text === undefined) return answer;
        return { text: JSON.stringify(request.messages[0]).match(/svc-canary-\w+/)![0] };
      };
      await using it = await Scenario.begin(leaks, { env: { SVC_SERVE_TOKENS: HIRER } });
      const toml = read(join(it.place.home, "daemon.toml"));
      it.place.configure(`${toml}[tasks]\nworkdirs = ["${it.workdir}"]\n`);
      const port = freePort();
      const routes = ["--enable-agent-routes", "--addr", `127.0.0.1:${port}`];
      await it.daemon.kill();
      await next(it, ...routes);
      const response = await fetch(`http://127.0.0.1:${port}/api/task`, {
        method: "POST",
        headers: {
          "x-svc-bearer": HIRER,
          "content-type": "application/json",
          prefer: "respond-async",
        },
        body: JSON.stringify({
          task_type: "code",
          description: "do it",
          extra: { workdir: it.workdir, model: it.model },
        }),
      });
      const { id: task_id } = await response.json();
      await until(() => it.asked.length === 2, "the answer after the command");
      const [{ id: session_id }] = await sessions(it);
      const rights = async () => {
        const { trust, approval } = await it.client.rpc.call("session.get", { session_id });
        return [trust, approval];
      };
      assertEquals(await rights(), ["untrusted", "auto"]);
      await it.daemon.kill();
      if (!offered) it.place.configure(toml);
      await next(it, ...routes);
      if (offered) {
        await until(() => it.asked.length === 3, "the answer is asked for again");
        assertEquals(await rights(), ["untrusted", "auto"]);
      }
      go.on = true;
      const { status, error } = await ended(it, task_id);
      const expected = offered ? /refused by the output critic, rule canary/ : /not available/;
      assertEquals(status, "failed");
      assertMatch(error!, expected);
      assertEquals(await states(it), ["ended"]);
      assertEquals(it.asked.length, offered ? 3 : 2);
    }
  },
});
