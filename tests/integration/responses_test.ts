/** OpenAI's models by its responses, over a daemon that is killed. */
import { assertEquals } from "@std/assert";
import type { Json } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

Deno.test({
  name: "reasoning goes back to the model after SIGKILL as before it, byte for byte",
  ignore: !can_run_svc,
  async fn() {
    const call = { name: "list_dir", args: {} };
    const script = [
      { reasoning: ["I look first."], text: "Looking.", calls: [call] },
      { reasoning: ["Again."], calls: [call] },
      { text: "Nothing there." },
      { text: "Still nothing." },
    ];
    await using it = await Scenario.begin(script, { provider: "openai-responses" });
    const { data } = await it.turn("look");
    assertEquals([data.stop_reason, data.message], ["ok", "Looking.\n\nNothing there."]);
    await it.daemon.kill();
    await it.restart();
    assertEquals((await it.turn("and now?")).data.message, "Still nothing.");
    const inputs = it.server.requests.map(({ body }): Json[] => body.input);
    assertEquals(it.server.requests.map(({ status }) => status), [200, 200, 200, 200]);
    const [before, after] = inputs.slice(-2);
    assertEquals(before.filter((item) => item.type === "reasoning").length, 2);
    assertEquals(JSON.stringify(after.slice(0, before.length)), JSON.stringify(before));
  },
});
