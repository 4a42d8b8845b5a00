import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import type { Answer } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place, svcLine, type TestClient } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";
import type { SvcError } from "../../src/protocol/errors.ts";

const ignore = !can_run_svc;
const DONE: Answer = { text: "Done." };

/** A daemon and a session of the embedded model. */
async function begin(place: Place, params: Record<string, unknown> = {}) {
  const daemon = await place.serve();
  const client = await daemon.rpc();
  const workdir = place.mkdir("project");
  const session_id = await client.session({ workdir, model: "builtin/toolbelt", ...params });
  return { daemon, client, workdir, session_id };
}

/** Sends an instruction, answers each approval that it leads to, and gives the turn's end. */
async function decided(
  client: TestClient,
  session_id: string,
  text: string,
  decide: (approval_id: string) => Promise<unknown>,
) {
  const before = client.of("approval.requested").length;
  const turn = client.turn(session_id, text);
  let asked = before;
  await Promise.race([
    turn,
    client.wait(() => client.of("approval.requested").length > before, "an approval"),
  ]);
  for (const event of client.of("approval.requested").slice(before)) {
    asked++;
    await decide(event.data.approval_id);
  }
  const { data } = await turn;
  return { asked: asked - before, message: data.message, stop_reason: data.stop_reason };
}

function overHttp(daemon: Daemon, session_id: string, decision: string) {
  return async (approval_id: string) => {
    const path = `/v1/sessions/${session_id}/approvals/${approval_id}`;
    const { status } = await daemon.http("POST", path, { decision });
    assertEquals(status, 200);
  };
}

function overSocket(client: TestClient, session_id: string, decision: string) {
  return (approval_id: string) =>
    client.rpc.call("session.approve", { session_id, approval_id, decision });
}

Deno.test({
  name: "the duration of a call leaves out the time that the person took",
  ignore,
  async fn() {
    await using place = new Place();
    const { client, session_id } = await begin(place);
    await using _ = client;
    const WAIT_MS = 500;
    const started = performance.now();
    await decided(client, session_id, "run true", async (approval_id) => {
      await delay(WAIT_MS);
      await overSocket(client, session_id, "allow")(approval_id);
    });
    const whole = performance.now() - started;
    const [{ data }] = client.of("session.tool_completed");
    // Half of it: two processes need not agree on how long that was.
    assert(data.duration_ms < whole - WAIT_MS / 2, `${data.duration_ms} of ${whole} ms`);
  },
});

Deno.test({
  name: "a pending approval shows, blocks the call, and is decided once",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon, client, workdir, session_id } = await begin(place);
    await using _ = client;
    const turn = client.turn(session_id, "run touch made && echo ok");
    const { data, seq } = await client.wait(({ type }) => type === "approval.requested");
    assertMatch(data.approval_id, /^appr_/);
    assertEquals([data.tool, data.args], ["run_command", { command: "touch made && echo ok" }]);
    assertStringIncludes(data.reason, "touch made");
    const started = client.of("session.tool_started")[0];
    assertEquals([started.data.call_id, started.seq < seq], [data.call_id, true]);

    await client.wait(({ type, data }) => type === "lane.status" && data.status === "blocked");
    const got = await client.rpc.call("session.get", { session_id });
    assertEquals(got.activity, "awaiting_approval");
    const [pending] = got.pending_approvals;
    assertEquals(
      [pending.approval_id, pending.tool, pending.args, pending.reason],
      [data.approval_id, data.tool, data.args, data.reason],
    );
    const { sessions: [item] } = await client.rpc.call("session.list");
    assertEquals([item.activity, item.pending_approvals_count], ["awaiting_approval", 1]);
    assertEquals([item.pending_approvals, got.pending_approvals_count], [undefined, 1]);
    await assertRejects(() => Deno.stat(join(workdir, "made")), Deno.errors.NotFound);

    const path = `/v1/sessions/${session_id}/approvals`;
    const bad = await daemon.http("POST", `${path}/${data.approval_id}`, { decision: "maybe" });
    assertEquals([bad.status, bad.json.error.code], [400, "validation"]);
    const unknown = await daemon.http("POST", `${path}/appr_none`, { decision: "allow" });
    assertEquals([unknown.status, unknown.json.error.code], [404, "not_found"]);
    // Both at once: one decides, the other learns that nothing is pending any more.
    const answers = await Promise.all([
      daemon.http("POST", `${path}/${data.approval_id}`, { decision: "allow" }),
      daemon.http("POST", `${path}/${data.approval_id}`, { decision: "deny" }),
    ]);
    assertEquals(answers.map(({ status }) => status).sort(), [200, 409]);
    const { json } = answers.find(({ status }) => status === 200)!;
    const resolved = await client.wait(({ type }) => type === "approval.resolved");
    assertEquals(resolved.data.decision, json.decision);
    assertEquals(Object.keys(resolved.data).sort(), ["approval_id", "by", "decision"]);
    await turn;
    assertEquals(client.of("approval.resolved").length, 1);
    const later = await assertRejects(() =>
      overSocket(client, session_id, "allow")(data.approval_id)
    ) as SvcError;
    assertEquals(later.code, "conflict");
    const idle = await client.rpc.call("session.get", { session_id });
    assertEquals([idle.activity, idle.pending_approvals], ["idle", []]);
    const moves = client.of("lane.status").map(({ data }) => data.status);
    assertEquals(moves, ["running", "blocked", "running"]);
  },
});

for (const via of ["socket", "http"]) {
  Deno.test({
    name: `allow, deny and allow_always over ${via}`,
    ignore,
    async fn() {
      await using place = new Place();
      const { daemon, client, workdir, session_id } = await begin(place);
      await using _ = client;
      const by = (decision: string) =>
        via === "http"
          ? overHttp(daemon, session_id, decision)
          : overSocket(client, session_id, decision);
      const ask = (text: string, decision: string) =>
        decided(client, session_id, text, by(decision));

      assertEquals((await ask("run echo a > a", "allow")).asked, 1);
      assertEquals(Deno.readTextFileSync(join(workdir, "a")), "a\n");
      // An allow is for that call alone.
      const denied = await ask("run echo a > a", "deny");
      assertEquals([denied.asked, denied.stop_reason], [1, "ok"]);
      assertStringIncludes(denied.message, "denied");
      assertEquals(client.of("session.tool_completed").at(-1)?.data.ok, false);
      // Reading waits for nobody.
      assertEquals(await ask("read a", "deny"), { asked: 0, message: "a", stop_reason: "ok" });

      assertEquals((await ask("run echo b >> b", "allow_always")).asked, 1);
      assertEquals((await ask("run echo b >> b", "deny")).asked, 0);
      assertEquals((await ask("run echo b >> b; echo c", "deny")).asked, 1);
      assertEquals((await ask("run echo b >> bb", "deny")).asked, 1);
      assertEquals((await ask("write w\n```\none\n```", "deny")).asked, 1);
      assertEquals((await ask("write w\n```\none\n```", "allow_always")).asked, 1);
      assertEquals((await ask("write v\n```\ntwo\n```", "deny")).asked, 0);
      assertEquals((await ask("edit v\n```\ntwo\n```\n```\nthree\n```", "deny")).asked, 1);
      assertEquals(Deno.readTextFileSync(join(workdir, "b")), "b\nb\n");
      assertEquals(Deno.readTextFileSync(join(workdir, "v")), "two\n");
      const record = client.of("approval.resolved").at(-1)!.data;
      assertEquals([record.decision, record.by], ["deny", via]);
      // Another session has said nothing yet.
      const other = await client.session({ workdir, model: "builtin/toolbelt" });
      const asked = await decided(
        client,
        other,
        "run echo b >> b",
        overSocket(client, other, "deny"),
      );
      assertEquals(asked.asked, 1);
    },
  });
}

Deno.test({
  name: "allow_always holds over a restart and over a crash",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon, client, workdir, session_id } = await begin(place);
    const always = overSocket(client, session_id, "allow_always");
    await decided(client, session_id, "run echo x >> x", always);
    await client[Symbol.asyncDispose]();
    await daemon.stop();
    for (const rounds of [2, 3]) {
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      await client.rpc.call("session.subscribe", { session_id });
      const deny = overSocket(client, session_id, "deny");
      assertEquals((await decided(client, session_id, "run echo x >> x", deny)).asked, 0);
      assertEquals((await decided(client, session_id, "run echo y >> x", deny)).asked, 1);
      assertEquals(Deno.readTextFileSync(join(workdir, "x")), "x\n".repeat(rounds));
      await daemon.kill();
    }
  },
});

Deno.test({
  name: "read_only refuses what does more than read, auto asks nobody",
  ignore,
  async fn() {
    await using place = new Place();
    const { client, workdir, session_id } = await begin(place, { approval: "read_only" });
    await using _ = client;
    Deno.writeTextFileSync(join(workdir, "f"), "text");
    assertEquals((await client.turn(session_id, "read f")).data.message, "text");
    for (
      const instruction of [
        "run touch g",
        "write g\n```\nx\n```",
        "edit f\n```\ntext\n```\n```\nother\n```",
        "fetch http://127.0.0.1:1/",
      ]
    ) {
      const { data } = await client.turn(session_id, instruction);
      assertStringIncludes(data.message, "read_only", instruction);
    }
    const names = [...Deno.readDirSync(workdir)].map(({ name }) => name).sort();
    assertEquals(names, [".svc", "f"]);

    const auto = await client.session({ workdir, model: "builtin/toolbelt", approval: "auto" });
    await client.turn(auto, "run touch g");
    await client.turn(auto, "write h\n```\nx\n```");
    assertEquals(Deno.readTextFileSync(join(workdir, "h")), "x\n");
    assert(Deno.statSync(join(workdir, "g")).isFile);
    assertEquals(client.of("approval.requested"), []);
  },
});

Deno.test({
  name: "after a crash nothing is pending and the turn was interrupted",
  ignore,
  async fn() {
    await using place = new Place();
    const { daemon, client, workdir, session_id } = await begin(place);
    await client.rpc.call("session.send", { session_id, text: "run touch made" });
    const { data } = await client.wait(({ type }) => type === "approval.requested");
    await daemon.kill();
    await client[Symbol.asyncDispose]();

    const again = await place.serve();
    await using after = await again.rpc();
    await after.rpc.call("session.subscribe", { session_id, since_seq: 0 });
    const end = await after.wait(({ type }) => type === "turn.completed");
    assertEquals(end.data.stop_reason, "interrupted");
    const reloaded = await after.wait(({ type }) => type === "daemon.reloaded");
    assert(reloaded.seq > end.seq);
    const got = await after.rpc.call("session.get", { session_id });
    assertEquals([got.state, got.activity, got.pending_approvals], ["running", "idle", []]);
    const path = `/v1/sessions/${session_id}/approvals/${data.approval_id}`;
    assertEquals((await again.http("POST", path, { decision: "allow" })).status, 404);
    await assertRejects(() => Deno.stat(join(workdir, "made")), Deno.errors.NotFound);
    // The session goes on, and what was cut off counts as without result.
    const { message, asked } = await decided(
      after,
      session_id,
      "run echo here",
      overHttp(again, session_id, "allow"),
    );
    assertEquals([asked, message.split("\n").at(-1)], [1, "here"]);
  },
});

Deno.test({
  name: "a denial can say what to do instead: the model reads it, in every face and over a restart",
  ignore,
  async fn() {
    const command = (n: number): Answer => ({
      calls: [{ name: "run_command", args: { command: `echo ${n}` } }],
    });
    await using it = await Scenario.begin(
      ({ messages }) => messages.at(-1)!.role === "user" ? command(messages.length) : DONE,
      { start: { approval: "ask" } },
    );
    const { place } = it;
    const asks = async (n: number) => {
      await until(() => it.client.of("approval.requested").length >= n, `question ${n}`);
      return it.client.of("approval.requested")[n - 1].data.approval_id as string;
    };
    /** What the model was given in place of the call's result. */
    const told = () => {
      const { messages } = it.server.requests.at(-1)!.body as { messages: { content: unknown }[] };
      return JSON.stringify(messages.at(-1)!.content);
    };
    let ended = it.turn("one");
    let approval_id = await asks(1);
    const approve = (params: Record<string, unknown>) =>
      it.call("session.approve", { approval_id, ...params });
    await assertRejects(() => approve({ decision: "allow", message: "x" }), Error, "deny");
    await approve({ decision: "deny", message: "use deno test" });
    await ended;
    assertStringIncludes(told(), "the person did not allow this call, and says: use deno test");

    ended = it.turn("two");
    approval_id = await asks(2);
    const answer = ["ctl", "approvals", "answer", approval_id, "deny", "--message", "not today"];
    assertEquals((await place.svc(answer)).code, 0);
    await ended;
    assertStringIncludes(told(), "and says: not today");

    await it.send("three");
    approval_id = await asks(3);
    await it.daemon.stop();
    await it.restart();
    await it.call("session.approve", { approval_id, decision: "deny", message: "later" });
    await until(() => it.client.of("turn.completed").length === 3, "the end");
    assertStringIncludes(told(), "and says: later");
  },
});

Deno.test({
  name: "no, TEXT in the terminal denies and says the rest, line by line and on the whole screen",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await Scenario.begin(
      ({ messages }) =>
        messages.at(-1)!.role === "user"
          ? { calls: [{ name: "run_command", args: { command: `echo ${messages.length}` } }] }
          : DONE,
      { start: { approval: "ask" } },
    );
    const said = () => it.client.of("approval.resolved").map(({ data }) => data.message);
    for (const [n, term] of ["xterm-256color", "dumb"].entries()) {
      await using terminal = await TmuxTerminal.open(it.place, { cols: 140 });
      await terminal.line(`TERM=${term} ${svcLine("chat", "--session", it.session_id)}`);
      await terminal.shows(term === "dumb" ? "/help for the commands" : "? help");
      await terminal.line("go");
      await terminal.shows("what to do instead");
      // A key from before the question does not answer it.
      await delay(1_500);
      await terminal.line(`no, try ${term}`);
      await until(() => said().length === n + 1, "the denial");
      assertEquals(said()[n], `try ${term}`);
      await until(() => it.client.of("turn.completed").length === n + 1, "the end");
    }
  },
});
