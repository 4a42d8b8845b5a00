/** The settings of a session, changed while it runs. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { Scenario } from "../support/scripted.ts";
import { scriptSteps, startAnthropicServer } from "../support/model_servers.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc;

const run = (command: string) => ({ calls: [{ name: "run_command", args: { command } }] });
/** Runs until {@linkcode release}. */
const held = run("until test -e go; do sleep 0.05; done");

function release({ workdir }: Scenario): void {
  Deno.writeTextFileSync(join(workdir, "go"), "");
}

async function errorOf(promise: Promise<unknown>): Promise<SvcError> {
  return await assertRejects(() => promise) as SvcError;
}

/** What `session.get` says of the settings. */
async function settings(it: Scenario) {
  const { model, approval, budget_usd, title, state } = await it.call("session.get");
  return { model, approval, budget_usd, title, state };
}

Deno.test({
  name: "a model that is changed during a turn answers from its next call on, at another provider",
  ignore,
  async fn() {
    await using server = {
      ...startAnthropicServer(scriptSteps([{ text: "From the other one." }]), { open: true }),
      [Symbol.asyncDispose]() {
        return this.close();
      },
    };
    const toml = `[models.other]\nkind = "anthropic"\nbase_url = "${server.url}"\n` +
      `api_key_env = "MODEL_KEY"\n`;
    await using it = await Scenario.begin([held, { text: "never asked for" }], { toml });
    await it.send("first");
    await it.event("session.tool_started");
    const model = "other/claude-x";
    assertEquals((await it.call("session.configure", { model })).changed, true);
    assertEquals((await it.call("session.configure", { model })).changed, false);
    release(it);
    const { data } = await it.event("turn.completed");
    assertEquals([data.stop_reason, data.message], ["ok", "From the other one."]);
    assertEquals([it.asked.length, server.requests.length], [1, 1]);
    assertEquals(server.requests[0].body.model, "claude-x");
    assertStringIncludes(JSON.stringify(server.requests[0].body.messages), "tool_result");
    assertEquals(it.client.of("turn.started").length, 1);
    assertEquals(it.client.of("session.configured").map(({ data }) => data), [
      { model, by: "socket" },
    ]);
    assertEquals(it.client.of("cost.tick").map(({ data }) => data.model), [it.model, model]);
    for (const bucket of ["minute", "hour"]) {
      const { groups } = await it.client.rpc.call("cost.breakdown", { by: "model", bucket });
      assertEquals(groups.map(({ key }: { key: string }) => key).sort(), [it.model, model].sort());
    }
  },
});

Deno.test({
  name: "an approval mode that is changed during a turn holds for the calls that have not begun",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      held,
      run("touch made"),
      { text: "Refused." },
    ]);
    await it.send("go");
    await it.event("session.tool_started");
    await it.call("session.configure", { approval: "read_only" });
    release(it);
    await it.event("turn.completed");
    const [first, second] = it.client.of("session.tool_completed").map(({ data }) => data);
    assertEquals([first.ok, second.ok], [true, false]);
    assertStringIncludes(second.output, "read_only");
    const told = it.client.of("context.told").map(({ data }) => data.facts.approval);
    assertEquals([told.length, new Set(told).size], [2, 2]);
    assert(!Array.from(Deno.readDirSync(it.workdir), ({ name }) => name).includes("made"));
  },
});

Deno.test({
  name:
    "an open question stays open when the mode changes, and what is always allowed stays allowed",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("echo one"),
      run("echo two"),
      held,
      run("echo one"),
      run("echo three"),
      { text: "Done." },
    ], { start: { approval: "ask" } });
    const question = async (command: string) => {
      const asked = await it.event(
        "approval.requested",
        ({ data }) => data.args.command === command,
      );
      return asked.data.approval_id;
    };
    const turn = it.turn("go");
    const first = await question("echo one");
    await it.call("session.configure", { approval: "auto" });
    const { pending_approvals } = await it.call("session.get");
    assertEquals(pending_approvals.length, 1);
    await it.call("session.approve", { approval_id: first, decision: "allow_always" });
    await it.event("session.tool_started", ({ data }) => data.args.command.startsWith("until"));
    await it.call("session.configure", { approval: "ask" });
    release(it);
    const second = await question("echo three");
    await it.call("session.approve", { approval_id: second, decision: "deny" });
    await turn;
    assertEquals(it.client.of("approval.requested").length, 2);
    const done = it.client.of("session.tool_completed").map(({ data }) => data.ok);
    assertEquals(done, [true, true, true, true, false]);
  },
});

Deno.test({
  name: "settings are there after SIGKILL right behind the answer, and after a clean restart",
  ignore,
  async fn() {
    await using it = await Scenario.begin([], { start: { approval: "ask", title: "before" } });
    // The index on the disk has the settings that the session began with.
    await it.daemon.stop();
    await it.restart();
    const changes = { approval: "auto", budget_usd: 2.5, title: "after", model: `${it.model}b` };
    await it.call("session.configure", changes);
    await it.daemon.kill();
    await it.restart();
    const now = { ...changes, state: "running" };
    assertEquals(await settings(it), now);
    await it.event("session.configured");
    assertEquals(it.client.of("session.configured").map(({ data }) => data), [
      { ...changes, by: "socket" },
    ]);
    await it.call("session.configure", { approval: "read_only", budget_usd: 1 });
    await it.daemon.stop();
    await it.restart();
    const { sessions } = await it.client.rpc.call("session.list", {});
    const [{ model, approval, budget_usd, title }] = sessions;
    const kept = { ...changes, approval: "read_only", budget_usd: 1 };
    assertEquals({ model, approval, budget_usd, title }, kept);
    assertEquals(await settings(it), { ...kept, state: "running" });
  },
});

Deno.test({
  name: "what cannot be changed is refused, and nothing is recorded",
  ignore,
  async fn() {
    await using it = await Scenario.begin([]);
    const { rpc } = it.client;
    const before = await it.call("session.get");
    const configure = (params: Record<string, unknown>) =>
      errorOf(it.call("session.configure", params));
    assertStringIncludes((await configure({})).message, "nothing to change");
    for (const wrong of [{ approval: "none" }, { budget_usd: 0 }, { title: "" }]) {
      assertEquals((await configure(wrong)).code, "validation", JSON.stringify(wrong));
    }
    for (const model of ["nope/model", "no-slash", "acp/missing"]) {
      const start = await errorOf(rpc.call("session.start", { workdir: it.workdir, model }));
      const { code, message } = await configure({ model });
      assertEquals([code, message], [start.code, start.message]);
    }
    // The names of sessions that belong to a task.
    const title = "task t-01ARZ3NDEKTSV4RRFFQ69G5FAV";
    assertEquals((await configure({ title })).code, "validation");
    const workdir = it.place.mkdir("theirs");
    const { session_id } = await rpc.call("session.start", { workdir, title });
    const named = errorOf(rpc.call("session.configure", { session_id, title: "mine" }));
    assertEquals((await named).code, "conflict");
    assertEquals((await it.call("session.get")).last_seq, before.last_seq);

    await it.call("session.kill");
    const path = `/v1/sessions/${it.session_id}/configure`;
    const ended = await it.daemon.http("POST", path, { title: before.title });
    assertEquals(ended.status, 410);
  },
});

Deno.test({
  name: "a session that works for others keeps the settings that it began with",
  ignore,
  async fn() {
    await using it = await Scenario.begin([], { start: { approval: "ask", trust: "untrusted" } });
    const before = await it.call("session.get");
    for (const change of [{ approval: "auto" }, { budget_usd: 100 }, { title: "mine" }]) {
      const refused = await errorOf(it.call("session.configure", change));
      assertEquals(refused.code, "permission_denied");
    }
    assertEquals(await it.call("session.get"), before);
  },
});

Deno.test({
  name: "settings are changed over HTTP, by svc ctl and on the screen of svc chat",
  ignore,
  async fn() {
    await using it = await Scenario.begin([]);
    const { place, session_id } = it;
    const path = `/v1/sessions/${session_id}/configure`;
    const { status, json } = await it.daemon.http("POST", path, { title: "by http" });
    assertEquals([status, json.changed, json.title], [200, true, "by http"]);

    const flags = ["--model", `${it.model}b`, "--approval", "ask", "--budget", "0.5"];
    const command = ["ctl", "sessions", "configure", session_id];
    const { code, stdout } = await place.svc([...command, ...flags, "--title", "by ctl"]);
    assertEquals(code, 0);
    assertStringIncludes(stdout, "by ctl");
    assertEquals(await settings(it), {
      model: `${it.model}b`,
      approval: "ask",
      budget_usd: 0.5,
      title: "by ctl",
      state: "running",
    });
    assertEquals((await place.svc([...command, "--budget", "-1"])).code, 2);
    assertEquals((await place.svc(command)).code, 1);

    const enter = async (text: string) => {
      await it.call("tui.press_key", { text });
      await it.call("tui.press_key", { key: "enter" });
    };
    await enter("/rename by chat");
    await enter(`/model ${it.model}c`);
    await it.event("session.configured", ({ data }) => data.model?.endsWith("c"));
    await enter("/approval");
    const { view } = await it.call("tui.snapshot", { cols: 120, rows: 30 });
    assertMatch(view, /▸ ask +now/);
    await it.call("tui.press_key", { key: "escape" });
    const { view: after } = await it.call("tui.snapshot", { cols: 120, rows: 30 });
    assertStringIncludes(after, "title is now by chat");
    assertStringIncludes(after, `model is now ${it.model}c`);
  },
});

Deno.test({
  name: "svc chat, line by line: /model shows and changes the model, /approval the mode",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await Scenario.begin([]);
    await using terminal = await TmuxTerminal.open(it.place, { cols: 120 });
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("/help");
    await terminal.prompted();
    await terminal.line("/model");
    await terminal.shows(`model: ${it.model}; /model NAME changes it`);
    await terminal.prompted();
    await terminal.line(`/model ${it.model}b`);
    await terminal.shows(`model is now ${it.model}b`);
    await terminal.prompted();
    await terminal.line("/approval never");
    await terminal.shows("read_only");
    await terminal.prompted();
    await terminal.line("/approval ask");
    await terminal.shows("approval is now ask");
    await terminal.prompted();
    await terminal.line("/rename a new name");
    await terminal.shows("title is now a new name");
    await terminal.prompted();
    assertEquals((await settings(it)).title, "a new name");
    await terminal.line("/quit");
  },
});

Deno.test({
  name: "a pinned session comes first, an archived one is left out until it gets a message",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "Hello." }]);
    const { rpc } = it.client;
    const workdir = it.place.mkdir("other");
    const { session_id: other } = await rpc.call("session.start", { workdir });
    const listed = async (params = {}) => {
      const { sessions } = await rpc.call("session.list", params);
      return sessions.map(({ id }: { id: string }) => id);
    };
    const all = [it.session_id, other];
    assertEquals(await listed(), all);
    assertEquals((await it.call("session.configure", { archived: true })).archived, true);
    assertEquals((await it.call("session.configure", { archived: true })).changed, false);
    await rpc.call("session.configure", { session_id: other, pinned: true });
    assertEquals(await listed(), [other]);
    assertEquals(await listed({ include_archived: true }), all);
    // Of sessions that nobody has opened yet.
    await it.daemon.stop();
    await it.restart();
    const again = async (params = {}) =>
      (await it.client.rpc.call("session.list", params)).sessions.map(({ id }: { id: string }) =>
        id
      );
    assertEquals([await again(), await again({ include_archived: true })], [[other], all]);

    const svc = async (...args: string[]) =>
      (await it.place.svc(["ctl", "sessions", ...args])).stdout;
    assertEquals((await svc("list")).includes(it.session_id), false);
    const rows = (await svc("list", "--archived")).split("\n");
    assertEquals([1, 2].map((n) => rows[n].split(" ")[0]), [other, it.session_id]);
    assertEquals(
      (await it.place.svc(["ctl", "sessions", "configure", other, "--pin", "--unpin"])).code,
      2,
    );
    assertStringIncludes(await svc("configure", other, "--unpin"), "false");

    await it.turn("hello");
    assertEquals(await again(), all);
    await it.call("tui.press_key", { text: "/archive" });
    await it.call("tui.press_key", { key: "enter" });
    await it.event("session.configured", ({ data }) =>
      data.archived === true && data.by !== "socket");
    assertEquals(await again(), [other]);
  },
});
