/** Queued messages: a person who stops a turn gets them back, and no other turn starts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { methods } from "@agentclientprotocol/sdk";
import { join } from "@std/path";
import { Editor } from "../support/acp.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc;
/** A command that ends when the file `go` is there. */
const WAITS = { name: "run_command", args: { command: "until [ -e go ]; do sleep 0.05; done" } };

/** A session whose turn runs a command; what follows is what its model says later. */
function atWork(...later: string[]): Promise<Scenario> {
  const texts = later.map((text) => ({ text }));
  return Scenario.begin([{ calls: [WAITS] }, ...texts]);
}

async function begin(it: Scenario): Promise<void> {
  await it.send("begin");
  await it.event("session.tool_started");
}

/** What the person said in the requests to the model. */
function said(it: Scenario): string[][] {
  return it.asked.map((messages) =>
    messages.flatMap((message) => message.role === "user" ? [message.text] : [])
  );
}

Deno.test({
  name: "session.withdraw takes back the named queued messages, or all; what a turn has it leaves",
  ignore,
  async fn() {
    await using it = await atWork("I saw it.");
    const first = await it.send("begin");
    await it.event("session.tool_started");
    const sent = async (text: string) => {
      const { message_id, seq } = await it.send(text);
      return { message_id, seq };
    };
    const [one, two] = [await sent("one"), await sent("two")];
    assertEquals(
      await it.call("session.withdraw", { message_ids: [one.message_id, first.message_id] }),
      { messages: [{ ...one, text: "one" }] },
    );
    assertEquals(await it.call("session.withdraw"), { messages: [{ ...two, text: "two" }] });
    assertEquals(await it.call("session.withdraw"), { messages: [] });
    const { data } = await it.event("user.withdrawn");
    assertEquals(data.messages, [one]);
    await it.send("three");
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    const { data: end } = await it.event("turn.completed");
    assertEquals([end.stop_reason, end.message], ["ok", "I saw it."]);
    assertEquals(said(it), [["begin"], ["begin", "three"]]);
    assertEquals((await it.call("session.get")).messages_count, 3);
    const { messages } = await it.call("session.transcript");
    assert(!JSON.stringify(messages).includes('"one"'), "the conversation does not have it");
    const found = async (query: string) => {
      const { results } = await it.client.rpc.call("session.search", { query });
      return results.length;
    };
    await until(async () => await found("three") > 0, "the index has the conversation");
    assertEquals(await found("two"), 0);
  },
});

Deno.test({
  name: "a message that is taken back while the model answers starts no other model call",
  ignore,
  async fn() {
    const goes_on = Promise.withResolvers<void>();
    await using it = await Scenario.begin([
      { text: "Here is the answer.", hang_after: 1, go_on: goes_on.promise },
      { text: "nobody asked" },
    ]);
    await it.send("begin");
    await it.event("session.delta");
    await it.send("never mind");
    await it.call("session.withdraw");
    goes_on.resolve();
    const { data } = await it.event("turn.completed");
    assertEquals([data.stop_reason, data.message], ["ok", "Here is the answer."]);
    assertEquals((await it.call("session.get")).activity, "idle");
    assertEquals(said(it), [["begin"]]);
  },
});

Deno.test({
  name: "what was taken back is not answered after a crash either",
  ignore,
  async fn() {
    await using it = await atWork("I saw what was left.", "and more");
    await begin(it);
    const { message_id } = await it.send("not this");
    await it.send("but this");
    await it.call("session.withdraw", { message_ids: [message_id] });
    await it.restart();
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    await until(() => said(it).at(-1)!.includes("but this"), "the other message is answered");
    await until(async () => (await it.call("session.get")).activity === "idle", "it rests");
    assert(!said(it).flat().includes("not this"), JSON.stringify(said(it)));
  },
});

Deno.test({
  name: "Escape in the terminal stops the turn, and the queued messages are in the message box",
  ignore,
  async fn() {
    await using it = await atWork("nobody asked");
    const press = (params: Record<string, unknown>) => it.call("tui.press_key", params);
    const screen = async () => (await it.call("tui.snapshot")).view as string;
    const shows = (what: RegExp) => until(async () => what.test(await screen()), `${what}`);
    await press({ text: "begin" });
    await press({ key: "enter" });
    await it.event("session.tool_started");
    for (const text of ["look at a", "and at b"]) {
      await press({ text });
      await press({ key: "enter" });
    }
    await it.event("user.message", ({ data }) => data.text === "and at b");
    await press({ text: "half a line" });
    await press({ key: "escape" });
    await shows(/● ready/);
    const { matches } = await it.call("tui.get_model", { jsonpath: "$.input.text" });
    assertEquals(matches, ["look at a\n\nand at b\n\nhalf a line"]);
    assertStringIncludes(await screen(), "message taken back: look at a");
    assertEquals(said(it), [["begin"]]);
    await it.restart();
    assertEquals((await it.call("session.get")).activity, "idle");
    assertEquals(said(it), [["begin"]]);
  },
});

Deno.test({
  name: "Ctrl-C in svc chat without the terminal UI puts the queued line back",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await atWork("nobody asked");
    await using terminal = await TmuxTerminal.open(it.place);
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("/help");
    await terminal.line("begin");
    await it.event("session.tool_started");
    await terminal.line("look at a");
    await it.event("user.message", ({ data }) => data.text === "look at a");
    await terminal.press("C-c");
    await terminal.shows(/message taken back: look at a[^]*You: look at a$/m);
    assertEquals(said(it), [["begin"]]);
  },
});

Deno.test({
  name: "svc chat -p whose queued message a person takes back ends, and leaves the turn running",
  ignore,
  async fn() {
    await using it = await atWork("The first is done.");
    await begin(it);
    const waiting = it.place.svc(["chat", "--session", it.session_id, "-p", "and this"]);
    await it.event("user.message", ({ data }) => data.text === "and this");
    await it.call("session.withdraw");
    const { code, stdout, stderr } = await waiting;
    assertEquals([code === 0, stdout], [false, ""]);
    assertStringIncludes(stderr, "the message was taken back");
    Deno.writeTextFileSync(join(it.workdir, "go"), "");
    assertEquals((await it.event("turn.completed")).data.message, "The first is done.");
  },
});

Deno.test({
  name: "an editor's cancel ends every prompt of its session",
  ignore,
  async fn() {
    await using it = await atWork("nobody asked");
    await using editor = new Editor(it.place, {
      args: ["--model", it.model],
      choose: () => "allow",
    });
    const sessionId = await editor.open(it.place.mkdir("other"));
    const prompts = [editor.prompt(sessionId, "begin")];
    await editor.told(() => editor.of("tool_call").length === 1, "the call");
    await it.client.rpc.call("session.subscribe", { session_id: sessionId, since_seq: 0 });
    prompts.push(editor.prompt(sessionId, "and this"));
    await it.event("user.message", ({ data }) => data.text === "and this");
    await editor.agent.notify(methods.agent.session.cancel, { sessionId });
    assertEquals(await Promise.all(prompts), ["cancelled", "cancelled"]);
    assertEquals(said(it), [["begin"]]);
  },
});
