/** How long models think: what they are asked for, and their reasoning in every face. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Answer } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;
const look: Answer = {
  reasoning: ["I look first."],
  text: "Looking.",
  calls: [{ name: "list_dir", args: {} }],
};
const done: Answer = { reasoning: ["Enough."], text: "Nothing there." };
const thinking = (it: Scenario) =>
  it.server.requests.map(({ body }) => body.thinking?.type ?? "none");

Deno.test({
  name: "a model thinks as its session says, and the reasoning outlives SIGKILL with its calls",
  ignore,
  async fn() {
    await using it = await Scenario.begin([look, done, { text: "Quick." }, look, done], {
      provider: "anthropic",
      start: { effort: "high" },
    });
    const { data } = await it.turn("one");
    assertEquals(data.message, "Looking.\n\nNothing there.");
    const thoughts = it.client.of("session.reasoning").map(({ data }) => data.text).join("|");
    assertEquals(thoughts.replaceAll("|", ""), "I look first.Enough.");
    const types = it.types().filter((type) => /reasoning|tool_started|cost.tick/.test(type));
    assertEquals(types.filter((type, n) => type !== types[n - 1]), [
      "session.reasoning",
      "cost.tick",
      "session.tool_started",
      "session.reasoning",
      "cost.tick",
    ]);

    await it.call("session.configure", { effort: "default" });
    assertEquals((await it.call("session.get")).effort, "default");
    await it.turn("two");
    await it.call("session.configure", { effort: "low" });
    await it.daemon.kill();
    await it.restart();
    assertEquals((await it.call("session.get")).effort, "low");
    await it.turn("three");
    assertEquals(thinking(it), ["enabled", "enabled", "none", "enabled", "enabled"]);
    const [before, after] = [2, 4].map((n) => it.server.requests[n].body.messages);
    const unmarked = (value: unknown) =>
      JSON.stringify(value).replaceAll(',"cache_control":{"type":"ephemeral"}', "");
    assertStringIncludes(unmarked(after), unmarked(before).slice(1, -1));
    assert(unmarked(after).includes("I look first."));
  },
});

Deno.test({
  name: "an effort is set in daemon.toml, by svc chat and svc ctl, and by /effort",
  ignore,
  async fn() {
    const answers = Array(4).fill(done);
    await using it = await Scenario.begin(answers, {
      provider: "anthropic",
      toml: '[agent]\neffort = "medium"\n',
    });
    assertEquals((await it.call("session.get")).effort, "medium");
    await it.turn("one");
    const chat = ["chat", "-p", "hello", "--model", it.model, "--effort", "none"];
    const { code, stdout } = await it.place.svc(chat, { cwd: it.workdir });
    assertEquals([code, stdout.trim()], [0, "Nothing there."]);
    const configure = ["ctl", "sessions", "configure", it.session_id, "--effort", "xhigh"];
    assertStringIncludes((await it.place.svc(configure)).stdout, "xhigh");
    assertEquals((await it.place.svc([...configure.slice(0, -1), "much"])).code, 2);
    const enter = async (text: string) => {
      await it.call("tui.press_key", { text });
      await it.call("tui.press_key", { key: "enter" });
    };
    await enter("/effort low");
    await it.event("session.configured", ({ data }) => data.effort === "low");
    await enter("think");
    await it.event("turn.completed", ({ seq }) => seq > it.client.of("session.configured")[1].seq);
    const { view } = await it.call("tui.snapshot", { cols: 80, rows: 24 });
    assertStringIncludes(view, "effort is now low");
    assertStringIncludes(view, "~ Enough.");
    assertEquals(thinking(it), ["enabled", "disabled", "enabled"]);
  },
});
