import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { delay } from "@std/async";
import { can_run_svc, Place, type TestClient } from "../support/svc.ts";
import { processesWith, PROVIDERS, Scenario, until } from "../support/scripted.ts";
import type { Message } from "../../src/models/model.ts";
import type { SvcError } from "../../src/protocol/errors.ts";

const ignore = !can_run_svc;
const linux = Deno.build.os === "linux";

const run = (command: string) => ({ calls: [{ name: "run_command", args: { command } }] });
/** A text whose stream stands still after its first piece, until `goOn`. */
const held = (word: string, pieces: number) => {
  const { promise: go_on, resolve: goOn } = Promise.withResolvers<void>();
  return { answer: { text: Array(pieces).fill(`${word} `), hang_after: 1, go_on }, goOn };
};
/** A text that streams for `pieces` times 50 ms. */
const slow = (word: string, pieces: number) => {
  return { text: Array(pieces).fill(`${word} `), pace_ms: 50 };
};

function roles(messages: Message[]): string {
  return messages.map((it) => it.role === "user" ? it.text : it.role).join(" ");
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await assertRejects(() => promise) as SvcError;
  return error.code;
}

for (const provider of PROVIDERS) {
  Deno.test({
    name: `steering ${provider}: a message reaches it at the next step, or makes one`,
    ignore,
    async fn() {
      const { answer, goOn } = held("word", 30);
      await using it = await Scenario.begin([
        run("until test -e go; do sleep 0.05; done"),
        answer,
        { text: "Heard." },
      ], { provider });
      await it.send("first");
      await it.event("session.tool_started");
      await it.send("second");
      assertEquals(it.asked.length, 1);
      Deno.writeTextFileSync(join(it.workdir, "go"), "");
      await it.event("session.delta");
      // The model has begun its last step: this one is answered in another.
      await it.send("third");
      goOn();
      const { data } = await it.event("turn.completed");
      assertEquals(it.asked.map(roles), [
        "first",
        "first assistant tool second",
        "first assistant tool second assistant third",
      ]);
      assertEquals(data.stop_reason, "ok");
      assertEquals(data.message, `${"word ".repeat(30)}\n\nHeard.`);
      assertEquals(it.client.of("turn.started").length, 1);
    },
  });
}

Deno.test({
  name: "cancel while the model streams keeps the text so far and closes its connection",
  ignore,
  async fn() {
    await using it = await Scenario.begin([slow("word", 400), { text: "Back." }]);
    await it.send("go");
    await it.client.wait(({ type }) => type === "session.delta");
    // The turn may have ended by the time the second one is looked at.
    const [first] = await Promise.all([it.call("session.cancel"), it.call("session.cancel")]);
    assertEquals(first, { cancelled: true });
    const { data } = await it.event("turn.completed");
    assertEquals(data.stop_reason, "cancelled");
    const streamed = it.client.of("session.delta").map(({ data }) => data.text).join("");
    assertEquals(data.message, streamed);
    assert(streamed.startsWith("word ") && streamed.length < 400 * 5);
    assertEquals(await it.server.requests[0].ended, "closed by client");

    assertEquals(await it.call("session.cancel"), { cancelled: false });
    assertEquals((await it.turn("and now")).data.message, "Back.");
    const [, said] = it.asked[1];
    assertEquals(said.role === "assistant" && said.text.trim(), streamed.trim());
    assertEquals(it.client.of("turn.completed").length, 2);
  },
});

for (const shell of ["auto", "none"]) {
  Deno.test({
    name: `cancel ends a command and its children, shell = "${shell}"`,
    ignore: ignore || !linux,
    async fn() {
      const nap = `6${String(Math.random()).slice(2, 8)}`;
      await using it = await Scenario.begin([
        run(`sleep ${nap} & sleep ${nap}`),
        { text: "Back." },
      ], { toml: `[sandbox]\nshell = "${shell}"\n` });
      await it.send("go");
      const sleeping = () => processesWith(`sleep ${nap}`).length;
      await until(() => sleeping() >= 2, "both sleeps run");
      assertEquals(await it.call("session.cancel"), { cancelled: true });
      await until(() => sleeping() === 0, "the children end");
      assertEquals((await it.event("turn.completed")).data.stop_reason, "cancelled");
      const { data } = await it.event("session.tool_completed");
      assertEquals([data.ok, data.output], [false, "stopped"]);
      assertEquals((await it.turn("and now")).data.message, "Back.");
      assertEquals(roles(it.asked[1]), "go assistant tool and now");
    },
  });
}

Deno.test({
  name: "cancel while an approval is pending withdraws it",
  ignore,
  async fn() {
    await using it = await Scenario.begin([run("touch made"), { text: "Back." }], {
      start: { approval: "ask" },
    });
    await it.send("go");
    const { data: { approval_id } } = await it.event("approval.requested");
    assertEquals(await it.call("session.cancel"), { cancelled: true });
    assertEquals((await it.event("turn.completed")).data.stop_reason, "cancelled");
    const got = await it.call("session.get");
    assertEquals([got.activity, got.pending_approvals], ["idle", []]);
    const late = it.call("session.approve", { approval_id, decision: "allow" });
    assertEquals(await codeOf(late), "not_found");
    assertEquals((await it.turn("and now")).data.message, "Back.");
    await assertRejects(() => Deno.stat(join(it.workdir, "made")), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "a paused session refuses messages; resumed, it takes them",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("sleep 60"),
      { text: "Back." },
    ]);
    await it.send("go");
    await it.event("session.tool_started");
    const { paused_at } = await it.call("session.pause");
    assert(!Number.isNaN(Date.parse(paused_at)));
    assertEquals((await it.event("turn.completed")).data.stop_reason, "interrupted");
    const types = it.types();
    assertEquals(types.indexOf("session.paused") > types.indexOf("turn.completed"), true);
    assertEquals((await it.event("session.paused")).data, { reason: "operator" });

    assertEquals(await codeOf(it.send("no")), "conflict");
    const path = `/v1/sessions/${it.session_id}`;
    const refused = await it.daemon.http("POST", `${path}/messages`, { text: "no" });
    assertEquals([refused.status, refused.json.error.code], [409, "conflict"]);
    assertEquals(await codeOf(it.call("session.pause")), "conflict");
    assertEquals(await it.call("session.cancel"), { cancelled: false });
    assertEquals((await it.call("session.get")).state, "paused");

    const resumed = await it.daemon.http("POST", `${path}/resume`);
    assertEquals([resumed.status, Object.keys(resumed.json)], [200, ["resumed_at"]]);
    assertEquals(await codeOf(it.call("session.resume")), "conflict");
    assertEquals((await it.turn("and now")).data.message, "Back.");
    assertEquals(it.client.of("user.message").length, 2);
  },
});

Deno.test({
  name: "a turn that ends by itself while a pause waits for it ended well",
  ignore,
  async fn() {
    await using it = await Scenario.begin([slow("word", 10), { text: "Back." }]);
    await it.send("go");
    await it.event("session.delta");
    await it.call("session.pause");
    const { data } = await it.event("turn.completed");
    assertEquals([data.message, data.stop_reason], ["word ".repeat(10), "ok"]);
  },
});

Deno.test({
  name: "a message that comes while a pause waits for the turn is answered after the resume",
  ignore,
  async fn() {
    const { answer, goOn } = held("word", 30);
    await using it = await Scenario.begin([answer, { text: "Heard." }]);
    await it.send("first");
    await it.event("session.delta");
    const paused = it.call("session.pause");
    await it.send("second");
    goOn();
    await paused;
    assertEquals((await it.event("turn.completed")).data.stop_reason, "interrupted");
    assertEquals(it.asked.length, 1);
    await it.call("session.resume");
    await it.event("turn.completed", ({ data }) => data.message === "Heard.");
    assertEquals(it.asked.map(roles), ["first", "first assistant second"]);
  },
});

Deno.test({
  name: "the same client_message_id sends once, whoever repeats it and when",
  ignore,
  async fn() {
    await using it = await Scenario.begin([slow("word", 4), { text: "Two." }]);
    const params = { text: "go", client_message_id: "mine-1" };
    const path = `/v1/sessions/${it.session_id}/messages`;
    await using other = await it.daemon.rpc();
    const answers = await Promise.all([
      it.call("session.send", params),
      it.call("session.send", params),
      other.rpc.call("session.send", { session_id: it.session_id, ...params }),
      it.daemon.http("POST", path, params).then(({ status, json }) => {
        assertEquals(status, 202);
        return json;
      }),
    ]);
    for (const answer of answers) assertEquals(answer, answers[0]);
    await it.event("turn.completed");
    assertEquals(await it.call("session.send", params), answers[0]);
    assertEquals(it.client.of("user.message").length, 1);
    assertEquals(it.asked.length, 1);

    await it.daemon.kill();
    const daemon = await it.place.serve();
    const again = await daemon.http("POST", path, params);
    assertEquals([again.status, again.json], [202, answers[0]]);
  },
});

for (const how of ["cancel", "kill"]) {
  Deno.test({
    name: `after a ${how} a command has seconds to clean up`,
    ignore: ignore || !linux,
    async fn() {
      await using place = new Place();
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const workdir = place.mkdir("project");
      const session_id = await client.session({ workdir, approval: "auto" });
      const there = (name: string) => [...Deno.readDirSync(workdir)].some((it) => it.name === name);
      const clean = "sleep 3; touch cleaned; exit";
      const text = `run trap '${clean}' TERM; touch begun; while :; do sleep 0.1; done`;
      await client.rpc.call("session.send", { session_id, text });
      await until(() => there("begun"), "the command");
      await client.rpc.call(`session.${how}`, { session_id });
      // The answer comes when the turn is over.
      assert(there("cleaned"));
    },
  });
}

Deno.test({
  name: "paused or resumed by several at once, a session records it once",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    await using other = await daemon.rpc();
    const session_id = await client.session({ workdir: place.mkdir("project") });
    const rounds = 10;
    for (let n = 0; n < rounds; n++) {
      for (const call of ["pause", "resume"]) {
        const answers = await Promise.allSettled([
          client.rpc.call(`session.${call}`, { session_id }),
          client.rpc.call(`session.${call}`, { session_id }),
          other.rpc.call(`session.${call}`, { session_id }),
        ]);
        // One that comes when it is done already is refused.
        const done = answers.filter((it) => it.status === "fulfilled").map(({ value }) => value);
        assert(done.length > 0);
        for (const answer of done) assertEquals(answer, done[0]);
      }
    }
    await client.turn(session_id, "help");
    for (const type of ["session.paused", "session.resumed"]) {
      assertEquals(client.of(type).length, rounds);
    }
  },
});

Deno.test({
  name: "cancel says that it cancelled what ends cancelled, and nothing else",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const session_id = await client.session({ workdir: place.mkdir("project"), approval: "auto" });
    const seen = new Set<boolean>();
    for (let n = 0; n < 60; n++) {
      const { seq } = await client.rpc.call("session.send", { session_id, text: "ls" });
      await delay(n % 15);
      const { cancelled } = await client.rpc.call("session.cancel", { session_id });
      const { data } = await client.wait((it) => it.type === "turn.completed" && it.seq > seq);
      assertEquals(data.stop_reason, cancelled ? "cancelled" : "ok");
      seen.add(cancelled);
    }
    console.log(`cancelled: ${[...seen].join(" and ")}`);
  },
});

Deno.test({
  name: "a client_message_id is known after a thousand others, and after a crash",
  ignore,
  async fn() {
    await using place = new Place();
    let daemon = await place.serve();
    const workdir = place.mkdir("project");
    let session_id: string;
    const send = async (client: TestClient, n: number) =>
      await client.rpc.call("session.send", {
        session_id,
        text: "x",
        client_message_id: `id-${n}`,
      });
    let first: unknown;
    {
      await using client = await daemon.rpc();
      session_id = await client.session({ workdir, model: "builtin/toolbelt" });
      first = await send(client, 0);
      for (let n = 1; n <= 1000; n += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, k) => send(client, n + k)));
      }
      assertEquals(await send(client, 0), first);
      assertNotEquals(await send(client, 1001), first);
    }
    await daemon.kill();
    daemon = await place.serve();
    await using client = await daemon.rpc();
    assertEquals(await send(client, 0), first);
    const { messages } = await client.rpc.call("session.transcript", { session_id });
    const asked = messages.filter((it: { role: string }) => it.role === "user");
    assertEquals(asked.length, 1002);
  },
});

Deno.test({
  name: "a call that runs for more than two seconds is a lane with its output, and ends done",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      run("echo early; until test -e go; do sleep 0.05; done; echo late"),
      run("echo quick"),
      { text: "Done." },
    ]);
    const turn = it.turn("go");
    await it.client.wait(({ type, data }) => type === "lane.created" && data.kind === "tool");
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await turn;
    const created = it.client.of("lane.created").map(({ data }) => data);
    // On a machine that stands still meanwhile the quick one takes long too.
    const { duration_ms } = it.client.of("session.tool_completed")[1].data;
    assertEquals(created.length, duration_ms < 1_900 ? 2 : created.length);
    const { lane_id, started_at, ...rest } = created[1];
    assert(!Number.isNaN(Date.parse(started_at)));
    const label = "run echo early; until test -e go; do sleep 0.05; done; echo late";
    const { call_id } = it.client.of("session.tool_started")[0].data;
    assertEquals(rest, { kind: "tool", parent_lane_id: "main", label, call_id });
    const own = it.client.events.filter(({ data }) => data.lane_id === lane_id);
    const moves = own.filter(({ type }) => type === "lane.status").map(({ data }) => data);
    assertEquals(moves.map((it) => `${it.prev_status} ${it.status}`), [
      "pending running",
      "running done",
    ]);
    assertEquals(Object.keys(moves[0]).sort(), [
      "lane_id",
      "prev_status",
      "reason",
      "reason_code",
      "status",
    ]);
    const deltas = own.filter(({ type }) => type === "lane.delta").map(({ data }) => data);
    assertEquals(deltas.map((it) => it.content_block.text).join(""), "early\nlate\n");
    assertEquals(deltas.map((it) => it.delta_seq), deltas.map((_, n) => n + 1));
    assertEquals(own.at(-1)?.type, "lane.status");
    const { lanes } = await it.call("session.get");
    const statuses = lanes.map((it: { status: string }) => it.status);
    assertEquals(statuses.slice(0, 2), ["running", "done"]);
    assertEquals(it.client.of("session.tool_completed")[0].data.output, "early\nlate");
  },
});

Deno.test({
  name: "kill ends turn, command, lanes and session, for good",
  ignore: ignore || !linux,
  async fn() {
    const nap = `6${String(Math.random()).slice(2, 8)}`;
    await using it = await Scenario.begin([run(`sleep ${nap}`)]);
    await it.send("go");
    await it.client.wait(({ type, data }) => type === "lane.created" && data.kind === "tool");
    const path = `/v1/sessions/${it.session_id}`;
    assertEquals((await it.daemon.http("DELETE", path)).status, 204);
    const ended = await it.event("session.ended");
    assertEquals(ended.data, { reason: "killed" });
    assertEquals((await it.event("turn.completed")).data.stop_reason, "cancelled");
    await until(() => processesWith(`sleep ${nap}`).length === 0, "the command ends");
    const got = await it.call("session.get");
    assertEquals([got.state, got.activity, got.last_seq], ["ended", "idle", ended.seq]);
    const statuses = got.lanes.map((it: { status: string }) => it.status);
    assertEquals(statuses, ["cancelled", "cancelled"]);
    const sent = await it.daemon.http("POST", `${path}/messages`, { text: "more" });
    assertEquals(sent.status, 410);
    assertStringIncludes(sent.json.error.message, "has ended");
    assertEquals((await it.daemon.http("DELETE", path)).status, 410);
    await delay(300);
    assertEquals(it.client.events.at(-1)?.type, "session.ended");
  },
});
