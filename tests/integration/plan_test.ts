/** The plan that a model keeps: in the journal, in the state and in every face. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Editor } from "../support/acp.ts";
import { type Provider, Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;
const WIRES: readonly Provider[] = ["openai-compatible", "anthropic", "google"];
const STEPS = [{ step: "look", state: "done" }, { step: "mend it", state: "doing" }];
const call = (steps: unknown) => ({ calls: [{ name: "plan", args: { steps } }] });

for (const provider of WIRES) {
  Deno.test({
    name: `a plan of ${provider} is an event and state, without a question, also after a kill`,
    ignore,
    async fn() {
      await using it = await Scenario.begin([
        call([{ step: "", state: "someday" }]),
        call(STEPS),
        { text: "Planned." },
        call([]),
        { text: "Cleared." },
      ], { provider, start: { approval: "read_only" } });
      assertEquals((await it.turn("go")).data.message, "Planned.");
      const [refused, kept] = it.client.of("session.tool_completed").map(({ data }) => data);
      assertEquals([refused.ok, kept.ok], [false, true]);
      assertEquals(kept.output, "[x] look\n[>] mend it");
      assertEquals(it.client.of("plan.changed").map(({ data }) => data.steps), [STEPS]);
      assertEquals(it.client.of("approval.requested"), []);
      const state = (await it.call("session.get")).plan;
      assertEquals(state, STEPS);
      await it.restart();
      assertEquals((await it.call("session.get")).plan, STEPS);
      const { tree } = await it.call("tui.snapshot");
      const panel = tree.find(({ name }: { name: string }) => name === "plan");
      assertEquals(panel.children.map(({ name }: { name: string }) => name), [
        "[x] look",
        "[>] mend it",
      ]);
      assertMatch((await it.call("tui.snapshot")).view, /\[>\] mend it/);
      await it.turn("clear it");
      assertEquals((await it.call("session.get")).plan, []);
      const after = (await it.call("tui.snapshot")).tree;
      assert(after.every(({ name }: { name: string }) => name !== "plan"));
    },
  });
}

Deno.test({
  name: "a plan stays with the model when the conversation is compacted, and after a kill",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      call(STEPS),
      { text: "Planned." },
      { text: "Long. ".repeat(2_000) },
      { text: "A summary without it." },
      { text: "Mended." },
    ]);
    await it.turn("go");
    await it.turn("tell me much");
    assertEquals((await it.call("session.compact")).compacted !== undefined, true);
    await it.restart();
    assertEquals((await it.turn("go on")).data.message, "Mended.");
    const last = JSON.stringify(it.server.requests.at(-1)!.body.messages);
    assertStringIncludes(last, "A summary without it.");
    assertStringIncludes(last, "[x] look\\n[>] mend it");
    assert(!last.includes('"plan"'), "the call itself is gone");
  },
});

Deno.test({
  name: "editors get a plan as the protocol has it, and svc chat --json prints it",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    const answers = [call(STEPS), { text: "Planned." }];
    await using it = await Scenario.begin([...answers, ...answers]);
    const said = ["chat", "--json", "--session", it.session_id, "-p", "go"];
    const { stdout } = await it.place.svc(said);
    const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(events.find(({ type }) => type === "plan.changed").data.steps, STEPS);

    await using editor = new Editor(it.place, { args: ["-m", it.model] });
    const sessionId = await editor.open(it.workdir);
    assertEquals(await editor.prompt(sessionId, "please"), "end_turn");
    const [plan] = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === "plan");
    assertEquals(plan, {
      sessionUpdate: "plan",
      entries: [
        { content: "look", priority: "medium", status: "completed" },
        { content: "mend it", priority: "medium", status: "in_progress" },
      ],
    });
  },
});
