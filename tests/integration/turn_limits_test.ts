/** Limits that a message sets for the turn that it starts. */
import { assertEquals, assertMatch } from "@std/assert";
import type { Answer } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;
/** USD per million tokens. */
const PRICES = '[prices."local/model-1"]\ninput = 1\noutput = 1\n';

const list: Answer = { calls: [{ name: "list_dir", args: { path: "." } }] };

Deno.test({
  name: "max_steps limits the turn that its message starts, and no later one",
  ignore,
  async fn() {
    await using it = await Scenario.begin(
      [list, { calls: [{ name: "list_dir", args: { path: "./" } }] }, list, { text: "Done." }],
      { toml: "[agent]\nmax_steps = 3\n" },
    );
    const { seq } = await it.call("session.send", { text: "go", max_steps: 2 });
    const { data } = await it.client.wait((event) =>
      event.type === "turn.completed" && event.seq > seq
    );
    assertEquals(data.stop_reason, "budget");
    assertMatch(data.error, /limit of 2 steps/);
    assertEquals((await it.turn("on")).data.stop_reason, "ok");
    const { error } = (await it.call("session.send", { text: "x", max_steps: 0 })
      .catch((error: Error) => ({ error }))) as { error: Error };
    assertMatch(error.message, /max_steps/);
  },
});

Deno.test({
  name: "max_usd ends the turn before the next model call, and counts this turn alone",
  ignore,
  async fn() {
    const dear = { ...list, usage: { input: 400_000, output: 100_000 } };
    const done = { text: "Done.", usage: { input: 400_000, output: 100_000 } };
    await using it = await Scenario.begin([done, dear, done], { toml: PRICES });
    assertEquals((await it.turn("first")).data.usage.usd, 0.5);
    const { seq } = await it.call("session.send", { text: "go", max_usd: 0.4 });
    const { data } = await it.client.wait((event) =>
      event.type === "turn.completed" && event.seq > seq
    );
    assertEquals([data.stop_reason, data.usage.usd], ["budget", 0.5]);
    assertMatch(data.error, /limit of \$0.4 for this turn/);
    assertEquals(it.server.requests.length, 2);
    assertEquals((await it.turn("on")).data.stop_reason, "ok");
  },
});
