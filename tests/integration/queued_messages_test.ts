/** Messages sent while a session is at work: every face sees how they reach the model. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { asksForSummary } from "../support/forgetful.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc;
/** A command that ends when the file `go` is there. */
const WAITS = { name: "run_command", args: { command: "until [ -e go ]; do sleep 0.05; done" } };

function goOn(it: Scenario): void {
  Deno.writeTextFileSync(join(it.workdir, "go"), "");
}

Deno.test({
  name: "a message that steers is seen as such by another client, which takes it back",
  ignore,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      { calls: [WAITS] },
      { text: ["I ", "read it."], hang_after: 1, go_on },
    ]);
    await using other = await it.daemon.rpc();
    const { session_id } = it;
    await other.rpc.call("session.subscribe", { session_id, since_seq: 0 });
    const queued = async () => (await other.rpc.call("session.get", { session_id })).queued;
    await it.send("begin");
    await it.event("session.tool_started");
    const first = await it.send("not this");
    assertEquals(Object.keys(first).sort(), ["message_id", "seq"]);
    const second = await it.send("but this");
    assertEquals(await queued(), [
      { ...first, delivery: "steer" },
      { ...second, delivery: "steer" },
    ]);
    const shown = await it.place.svc([
      "ctl",
      "call",
      "session.get",
      JSON.stringify({ session_id }),
    ]);
    assertStringIncludes(shown.stdout, '"steer"');
    const message_ids = [first.message_id];
    await other.rpc.call("session.withdraw", { session_id, message_ids });
    assertEquals((await it.event("user.withdrawn")).data.messages, [first]);
    assertEquals(await queued(), [{ ...second, delivery: "steer" }]);
    goOn(it);
    await it.event("session.delta");
    // The model has read it, though it has not answered yet.
    assertEquals(await queued(), []);
    assertEquals(await it.call("session.withdraw"), { messages: [] });
    resolve();
    await it.event("turn.completed");
    const said = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(said, ["begin", "but this"]);
    await other.wait(({ type }) => type === "turn.completed", "the end");
    const delivered = other.of("user.message").map(({ data }) => [data.text, data.delivery]);
    assertEquals(delivered, [["begin", undefined], ["not this", "steer"], ["but this", "steer"]]);
  },
});

Deno.test({
  name: "a message that comes while the conversation is shortened waits for the next turn",
  ignore,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    const summarised = Promise.withResolvers<void>();
    await using it = await Scenario.begin((request) => {
      if (!asksForSummary(request)) return { text: "word ".repeat(2_000) };
      summarised.resolve();
      return { text: ["They ", "talked."], hang_after: 1, go_on };
    });
    for (let n = 0; n < 4; n++) await it.turn(`${n}`);
    const compacted = it.call("session.compact");
    await summarised.promise;
    const sent = await it.send("and now?");
    const { data } = await it.event("user.message", ({ data }) => data.text === "and now?");
    assertEquals(data.delivery, "queue");
    assertEquals((await it.call("session.get")).queued, [{ ...sent, delivery: "queue" }]);
    resolve();
    await compacted;
    await it.event("turn.started", ({ seq }) => seq > sent.seq);
    await it.event("turn.completed", ({ seq }) => seq > sent.seq);
    assertEquals((await it.call("session.get")).queued, []);
  },
});

Deno.test({
  name: "a message behind a turn that waits for the next daemon steers it, after the restart too",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ calls: [WAITS] }, { text: "Done." }], {
      toml: '[agent]\ncontinue = "always"\n',
    });
    await it.send("begin");
    await it.event("session.tool_started");
    const sent = await it.send("and this");
    await it.restart();
    await it.event("turn.completed");
    const said = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(said, ["begin", "and this"]);
    assertEquals(it.client.of("turn.started").length, 1);
    const { queued } = await it.call("session.get");
    assertEquals(queued, [], sent.message_id);
  },
});

Deno.test({
  name: "/withdraw in the terminal UI puts the message back, and the turn goes on",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ calls: [WAITS] }, { text: "The end." }]);
    const press = (params: Record<string, unknown>) => it.call("tui.press_key", params);
    const shows = (what: string) =>
      until(async () => (await it.call("tui.snapshot")).view.includes(what), what);
    const type = async (text: string) => {
      await press({ text });
      await press({ key: "enter" });
    };
    await type("begin");
    await it.event("session.tool_started");
    await type("look at a");
    await shows("(steers) look at a");
    await type("/withdraw");
    await shows("message taken back: look at a");
    await until(async () => {
      const { matches } = await it.call("tui.get_model", { jsonpath: "$.input.text" });
      return matches[0] === "look at a";
    }, "the message box");
    goOn(it);
    assertEquals((await it.event("turn.completed")).data.message, "The end.");
  },
});

Deno.test({
  name: "svc chat without the terminal UI says how a message reaches the model; /withdraw works",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await Scenario.begin([{ calls: [WAITS] }, { text: "The end." }]);
    await using terminal = await TmuxTerminal.open(it.place);
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("/help");
    await terminal.line("begin");
    await it.event("session.tool_started");
    await terminal.line("look at a");
    await terminal.shows("the model reads this at its next step; /withdraw takes it back");
    await terminal.line("/withdraw");
    await terminal.shows("message taken back: look at a");
    await terminal.line("/withdraw");
    await terminal.shows("no message waits: the model has read them all");
    goOn(it);
    await it.event("turn.completed");
    await terminal.shows(/The end\.[^]*You: look at a$/m);
  },
});

Deno.test({
  name: "a message that is queued waits for its own turn, through SIGKILL, and can steer instead",
  ignore,
  async fn() {
    const { promise: go_on, resolve } = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      { calls: [WAITS] },
      // What a crash has cut off is not run again: the turn goes on with its next answer.
      { text: ["Do", "ne."], hang_after: 1, go_on },
      { text: "First." },
      { text: "Second." },
    ], { toml: '[agent]\ncontinue = "always"\n' });
    const queue = { delivery: "queue" };
    await it.send("begin");
    await it.event("session.tool_started");
    const first = await it.call("session.send", { text: "first", ...queue });
    const second = await it.call("session.send", { text: "second", ...queue });
    const steers = await it.call("session.send", { text: "steers", ...queue });
    const redeliver = { message_id: steers.message_id, delivery: "steer" };
    assertEquals(await it.call("session.redeliver", redeliver), { changed: true });
    assertEquals(await it.call("session.redeliver", redeliver), { changed: false });
    await it.restart();
    const { queued } = await it.call("session.get");
    const later = queued.filter(({ delivery }: { delivery: string }) => delivery === "queue");
    assertEquals(later, [{ ...first, ...queue }, { ...second, ...queue }]);
    resolve();
    await it.event("turn.completed", ({ data }) => data.message === "Second.");
    const said = it.asked.map((asked) => asked.filter(({ role }) => role === "user").length);
    assertEquals(said.slice(-2), [3, 4]);
    const texts = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(texts, ["begin", "steers", "first", "second"]);
    assertEquals((await it.call("session.get")).queued, []);
  },
});

Deno.test({
  name: "/queue and Alt+Enter in the terminal UI queue a message for its own turn",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [WAITS] },
      { text: "The end." },
      { text: "Then this." },
      { text: "And that." },
    ]);
    const press = (params: Record<string, unknown>) => it.call("tui.press_key", params);
    const shows = (what: string) =>
      until(async () => (await it.call("tui.snapshot")).view.includes(what), what);
    await press({ text: "begin" });
    await press({ key: "enter" });
    await it.event("session.tool_started");
    await press({ text: "/queue look at a" });
    await press({ key: "enter" });
    await shows("(queued) look at a");
    await press({ text: "look at b" });
    await press({ key: "alt-enter" });
    await shows("(queued) look at b");
    goOn(it);
    await it.event("turn.completed", ({ data }) => data.message === "And that.");
    const texts = it.asked.at(-1)!.flatMap((each) => each.role === "user" ? [each.text] : []);
    assertEquals(texts, ["begin", "look at a", "look at b"]);
  },
});
