/** Models that answer the rest of a turn when the session's own one fails for good. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import {
  type Answer,
  type ModelServer,
  type Scripted,
  scriptSteps,
  startAnthropicServer,
} from "../support/model_servers.ts";
import { Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;
const look: Answer = { text: "Looking.", calls: [{ name: "list_dir", args: {} }] };
const down = { status: { code: 403, message: "not for you" } };

interface Setting extends AsyncDisposable {
  it: Scenario;
  /** The provider that answers instead. */
  second: ModelServer;
}

/** A session at one provider, with a model of another as its fallback. */
async function begin(
  steps: readonly (Answer | Scripted)[],
  instead: readonly (Answer | Scripted)[],
  options: ScenarioOptions & { fallback?: string[] } = {},
): Promise<Setting> {
  const second = startAnthropicServer(scriptSteps(instead));
  const fallback = options.fallback ?? ["second/claude-sonnet-5"];
  const toml = `${options.toml ?? ""}
[models.second]
kind = "anthropic"
base_url = "${second.url}"
api_key_env = "SECOND_KEY"
[prices."second/claude-sonnet-5"]
input = 1000
output = 1000
[agent]
fallback = ${JSON.stringify(fallback)}
`;
  const env = { SECOND_KEY: "sk-second-0123456789", ...options.env };
  const it = await Scenario.begin(steps, { ...options, env, toml });
  return {
    it,
    second,
    async [Symbol.asyncDispose]() {
      await it[Symbol.asyncDispose]();
      await second.close();
    },
  };
}

const notes = (it: Scenario) =>
  it.client.of("lane.note").map(({ data }) => data).filter((data) => data.fallback !== undefined);
const asked = (it: Scenario) =>
  it.client.of("cost.tick").map(({ data }) => `${data.model} ${data.usd_delta > 0}`);

/** Begins a turn, and waits until the other model was turned to. */
async function turnsAway(it: Scenario) {
  const before = notes(it).length;
  await it.send("two");
  return await it.event("lane.note", () => notes(it).length > before);
}

Deno.test({
  name: "a model that fails for good is followed by the next for the rest of its turn, visibly",
  ignore,
  async fn() {
    const later: Answer = { text: "Back again." };
    await using setting = await begin([look, down, later], [look, { text: "Done." }], {
      provider: "openai-responses",
      start: { effort: "high" },
    });
    const { it, second } = setting;
    const { data } = await it.turn("one");
    assertEquals(data.message, "Looking.\n\nLooking.\n\nDone.");
    assertEquals(asked(it), [
      `${it.model} false`,
      "second/claude-sonnet-5 true",
      "second/claude-sonnet-5 true",
    ]);
    const [note] = notes(it);
    assertEquals([note.fallback, note.reason_code], ["second/claude-sonnet-5", "model_retry"]);
    assertStringIncludes(note.text, "gpt answered 403: not for you");
    assertStringIncludes(note.text, "second/claude-sonnet-5 answers the rest of this turn");
    // The first call came from a model whose reasoning and effort nobody else gets.
    assertEquals(second.requests[0].body.thinking, undefined);
    assertEquals(JSON.stringify(second.requests[0].body).includes("reasoning"), false);
    assertEquals((await it.call("session.get")).model, it.model);
    await it.turn("two");
    assertEquals(asked(it).at(-1), `${it.model} false`);
    assertEquals(notes(it).length, 1);
  },
});

Deno.test({
  name: "a fallback that cannot be used is skipped, and with none left the turn fails",
  ignore,
  async fn() {
    const fallback = ["nobody/x", "second/claude-sonnet-5"];
    await using setting = await begin([down, down], [{ text: "Here." }, down], { fallback });
    const { it } = setting;
    assertEquals((await it.turn("one")).data.message, "Here.");
    assertStringIncludes(
      notes(it)[0].text,
      'nobody/x cannot be used: unknown model provider "nobody"; second/claude-sonnet-5 answers',
    );
    const { data } = await it.turn("two");
    assertEquals(data.stop_reason, "error");
    assertStringIncludes(data.error, "second answered 403");
  },
});

Deno.test({
  name: "a request that is wrong, and one that a filter refuses, are not asked elsewhere",
  ignore,
  async fn() {
    const wrong = { status: { code: 400, message: "no such parameter" } };
    const filtered = {
      status: { code: 400, message: "the content management policy", type: "content_filter" },
    };
    await using setting = await begin([wrong, filtered], []);
    const { it, second } = setting;
    assertEquals((await it.turn("one")).data.stop_reason, "error");
    assertEquals((await it.turn("two")).data.stop_reason, "filtered");
    assertEquals([notes(it), second.requests.length], [[], 0]);
  },
});

Deno.test({
  name:
    "after SIGKILL the rest of the turn is still the other model's; a person's choice ends that",
  ignore,
  async fn() {
    const { promise: over, resolve: end_wait } = Promise.withResolvers<void>();
    const hangs: Scripted = async () => {
      await over;
      return { text: "never" };
    };
    const waits: Scripted = async () => {
      await delay(1_000);
      return look;
    };
    await using setting = await begin(
      [look, down, down, { text: "Own." }],
      [hangs, look, { text: "Done." }, waits],
    );
    const { it, second } = setting;
    await it.send("one");
    await it.event("lane.note", ({ data }) => data.fallback !== undefined);
    while (second.requests.length < 1) await delay(20);
    await it.restart();
    end_wait();
    await it.call("session.continue");
    const { data } = await it.event("turn.completed", ({ data }) => data.stop_reason === "ok");
    assert(data.message.endsWith("Done."), data.message);
    assertEquals(asked(it).map((line) => line.split(" ")[0]), [
      it.model,
      "second/claude-sonnet-5",
      "second/claude-sonnet-5",
    ]);
    assertEquals(notes(it).length, 1, "it is not told twice");

    const { fallback } = (await turnsAway(it)).data;
    assertEquals(fallback, "second/claude-sonnet-5");
    await it.call("session.configure", { model: `${it.model}-b` });
    const end = await it.event("turn.completed", ({ data }) => data.message.endsWith("Own."));
    assertEquals(end.data.stop_reason, "ok");
    assertEquals(asked(it).at(-1), `${it.model}-b false`);
  },
});
