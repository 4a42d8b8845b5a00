/** A graceful stop: what an answer, a command and a question under way at it come to. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { processesWith, Scenario, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const linux = Deno.build.os === "linux";
/** Longer than any test: only what does not wait for its end passes. */
const GRACE_S = 3_600;

function test(
  name: string,
  steps: readonly (Answer | Scripted)[] | Scripted,
  run: (it: Scenario) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore: !can_run_svc || !linux,
    async fn() {
      await using it = await Scenario.begin(steps);
      await run(it);
    },
  });
}

const command = (command: string, more: Record<string, unknown> = {}) => ({
  name: "run_command",
  args: { command, ...more },
});

const WAITS_FOR_GO = "until [ -e go ]; do sleep 0.05; done; echo it ends well";

const shutDown = (it: Scenario) => it.client.rpc.call("daemon.shutdown", { grace_s: GRACE_S });

async function ended(it: Scenario): Promise<void> {
  assertEquals((await it.daemon.ended()).code, 0);
}

/** The results of calls in the newest request. */
function results(it: Scenario): string[] {
  return it.asked.at(-1)!.flatMap((message) =>
    message.role === "tool" ? message.results.map((it) => it.output) : []
  );
}

/** How often each event that tells of the turn came. */
const count = (it: Scenario, type: string) => it.types().filter((each) => each === type).length;

for (const stubborn of [false, true]) {
  const nap = `6${String(Math.random()).slice(2, 8)}`;
  const line = `${stubborn ? "trap '' TERM; " : ""}echo one >> out; sleep ${nap}; sleep ${nap}`;
  test(`a command gets 5 s at a stop${stubborn ? ", also one that ignores SIGTERM" : ""}`, [
    { text: "Now.", calls: [command(line), command("echo two >> out")] },
    { text: "Done." },
  ], async (it) => {
    await it.send("go");
    await until(() => processesWith(`sleep ${nap}`).length > 0, "the command");
    await shutDown(it);
    await ended(it);
    assertEquals(processesWith(`sleep ${nap}`), []);
    assertEquals(it.asked.length, 1);
    await it.restart();
    const { data } = await it.event("turn.completed");
    assertEquals([data.stop_reason, data.message], ["ok", "Now.\n\nDone."]);
    assertEquals(it.asked.length, 2);
    const [first, second, ...more] = results(it);
    assertStringIncludes(first, UNKNOWN_OUTCOME);
    assert(!second.includes(UNKNOWN_OUTCOME), second);
    assertEquals(more, []);
    assertEquals(await Deno.readTextFile(join(it.workdir, "out")), "one\ntwo\n");
    assertEquals([count(it, "turn.started"), count(it, "session.tool_completed")], [1, 2]);
  });
}

test("a command that ends in time has its result, and no step begins before the next daemon", [
  // The stop waits for this one: it ignores SIGTERM.
  { calls: [command("trap '' TERM; while :; do sleep 0.1; done", { background: true })] },
  { calls: [command(WAITS_FOR_GO), command("echo two >> out")] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  await it.event("session.tool_started", ({ data }) => data.args.command === WAITS_FOR_GO);
  await shutDown(it);
  await Deno.writeTextFile(join(it.workdir, "go"), "");
  await ended(it);
  assertEquals(it.asked.length, 2);
  await assertRejects(() => Deno.stat(join(it.workdir, "out")), Deno.errors.NotFound);
  await it.restart();
  assertEquals((await it.event("turn.completed")).data.message, "Done.");
  assertEquals(it.asked.length, 3);
  assertEquals(results(it).filter((each) => each.includes("it ends well")).length, 1);
  assertEquals(results(it).length, 3);
  assertEquals(await Deno.readTextFile(join(it.workdir, "out")), "two\n");
});

for (const calls of [false, true]) {
  const { promise: go_on, resolve: goOn } = Promise.withResolvers<void>();
  const streamed = calls ? { calls: [command("echo one >> out")] } : {};
  test(`an answer that streams at a stop is finished${calls ? ", and its call made later" : ""}`, [
    { text: ["One ", "two ", "three."], hang_after: 2, go_on, ...streamed },
    { text: "Done." },
  ], async (it) => {
    await it.send("count");
    await it.event("session.delta", ({ data }) => data.text.includes("two "));
    await shutDown(it);
    // Sent to a session that stops: the next daemon answers it.
    const sent = await it.send("and then?").catch(() => undefined);
    goOn();
    await ended(it);
    await assertRejects(() => Deno.stat(join(it.workdir, "out")), Deno.errors.NotFound);
    assertEquals(it.asked.length, 1);
    await it.restart();
    if (sent === undefined && !calls) {
      assertEquals((await it.call("session.get")).activity, "idle");
    } else {
      await until(() => it.asked.length === 2, "the second request");
    }
    await it.event("turn.completed", ({ data }) => data.message.startsWith("One two three."));
    const said = it.client.of("session.delta").map(({ data }) => data.text).join("");
    assertEquals(said.split("One two three.").length, 2, said);
    const spoken = it.asked.at(-1)!.filter(({ role }) => role === "assistant");
    assertEquals(spoken.length, it.asked.length - 1);
    if (calls) assertEquals(await Deno.readTextFile(join(it.workdir, "out")), "one\n");
  });
}

test(
  "a subagent's command gets 5 s at a stop, and the model learns that it may have worked",
  (request) => {
    const [first] = request.messages;
    const told = request.messages.some(({ role }) => role === "tool");
    if (first.role === "user" && first.text === "go") {
      return told ? { text: "Done." } : {
        calls: [{ name: "agent", args: { description: "a part", task: "the part" } }],
      };
    }
    return { calls: [command("echo one >> out; sleep 600")] };
  },
  async (it) => {
    await it.send("go");
    await it.event("subagent.tool_started");
    await until(
      () => Deno.readTextFile(join(it.workdir, "out")).then(() => true, () => false),
      "the command",
    );
    await shutDown(it);
    await ended(it);
    assertEquals(it.asked.length, 2);
    await it.restart();
    assertEquals((await it.event("turn.completed")).data.message, "Done.");
    assertEquals(it.asked.length, 3);
    const [told, ...more] = results(it);
    assertMatch(told, /did not finish[^]*run_command [^]*may or may not have taken effect/);
    assertEquals(more, []);
    assertEquals(await Deno.readTextFile(join(it.workdir, "out")), "one\n");
  },
);

test("two stops in a row, the second during the turn that goes on: nothing comes twice", [
  { calls: [command("echo one >> out; sleep 600")] },
  { calls: [command("echo two >> out; sleep 600")] },
  { text: "Done." },
], async (it) => {
  await it.send("go");
  const out = () => Deno.readTextFile(join(it.workdir, "out")).catch(() => "");
  for (const written of ["one\n", "one\ntwo\n"]) {
    await until(async () => await out() === written, written);
    await shutDown(it);
    // Asked again, it stops as before.
    await shutDown(it).catch(() => {});
    await ended(it);
    await it.restart();
  }
  assertEquals((await it.event("turn.completed")).data.message, "Done.");
  assertEquals(it.asked.length, 3);
  assertEquals(results(it).map((each) => each.includes(UNKNOWN_OUTCOME)), [true, true]);
  assertEquals(await out(), "one\ntwo\n");
  assertEquals([count(it, "turn.started"), count(it, "turn.continued")], [1, 2]);
});

test("a provider's failure at a stop is not waited for; the next daemon asks again", [
  { status: { code: 503, headers: { "retry-after": "100" } } },
  { text: "Here." },
], async (it) => {
  await it.send("go");
  await it.event("lane.note", ({ data }) => data.reason_code === "model_retry");
  await shutDown(it);
  await ended(it);
  assertEquals(it.asked.length, 1);
  await it.restart();
  const { data } = await it.event("turn.completed");
  assertEquals([data.stop_reason, data.message], ["ok", "Here."]);
});

Deno.test({
  name: "an answer to a question during a stop is refused as such, and counts after it",
  ignore: !can_run_svc || !linux,
  async fn() {
    const { promise: go_on, resolve: goOn } = Promise.withResolvers<void>();
    await using it = await Scenario.begin((request) => {
      const [first] = request.messages;
      if (first.role === "user" && first.text === "count") {
        return { text: ["One ", "two."], hang_after: 1, go_on };
      }
      if (request.messages.length > 1) return { text: "Done." };
      return { calls: [command("echo one >> out")] };
    }, { start: { approval: "ask" } });
    await it.send("go");
    const { data: { approval_id } } = await it.event("approval.requested");
    const other = await it.client.session({ workdir: it.workdir, model: it.model });
    await it.client.rpc.call("session.send", { session_id: other, text: "count" });
    await it.event("session.delta");
    await shutDown(it);
    const answer = () => it.call("session.approve", { approval_id, decision: "allow" });
    const refused = await assertRejects(answer, SvcError);
    assertEquals(refused.code, "shutting_down");
    goOn();
    await ended(it);
    await it.restart();
    await answer();
    assertEquals((await it.event("turn.completed")).data.message, "Done.");
    assertEquals(await Deno.readTextFile(join(it.workdir, "out")), "one\n");
  },
});
