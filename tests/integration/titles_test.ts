import { assert, assertEquals } from "@std/assert";
import { type Answer, type ParsedRequest, startAnthropicServer } from "../support/model_servers.ts";
import { Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

const asksForTitle = ({ system }: ParsedRequest) => system.startsWith("You name conversations");

/** A scenario whose model answers every message, and is asked to name the session. */
function begin(title: Answer | (() => Answer), options: ScenarioOptions = {}) {
  return Scenario.begin(
    (request) =>
      asksForTitle(request)
        ? (typeof title === "function" ? title() : title)
        : { text: "Certainly." },
    { toml: 'small = "model-1"\n[agent]\ntitles = true\n', ...options },
  );
}

async function titleIn(it: Scenario): Promise<string> {
  return (await it.call("session.get")).title;
}

/** Waits until the lane of the name has ended, and returns how. */
async function named(it: Scenario): Promise<string> {
  const { data: { lane_id } } = await it.event("lane.created", ({ data }) =>
    data.label === "title");
  const { data: { status } } = await it.event(
    "lane.status",
    ({ data }) => data.lane_id === lane_id && !["pending", "running"].includes(data.status),
  );
  return status;
}

Deno.test({
  name: "a session without a title is named by a model after its first turn, once, at its own cost",
  ignore,
  async fn() {
    await using it = await begin({ text: "Mending the build" });
    assertEquals(await titleIn(it), "project");
    await it.turn("Please mend\nthe build");
    assertEquals(await named(it), "done");
    assertEquals(await titleIn(it), "Mending the build");
    const [{ data: { lane_id } }] = it.client.of("lane.created").filter(({ data }) =>
      data.label === "title"
    );
    const tick = it.client.of("cost.tick").find(({ data }) => data.lane_id === lane_id)!;
    assert(tick.data.tokens_in > 0);
    await it.turn("And again");
    assertEquals(it.client.of("session.titled").length, 1);
    assertEquals(it.server.requests.length, 3);
    await it.restart();
    assertEquals(await titleIn(it), "Mending the build");
    const { sessions } = await it.client.rpc.call("session.list");
    assertEquals(sessions[0].title, "Mending the build");
  },
});

for (
  const [name, answer, shown] of [
    ["markup and quotes", '# **"<b>Build</b> `main`."**\nand more', "Build main"],
    ["10,000 characters", "x".repeat(10_000), `${"x".repeat(79)}…`],
    ["control characters", "\u001b]0;own\u0007ed\u202e\u0000 title", "]0;owned title"],
    ["the title of a task's session", "task t-01ARZ3NDEKTSV4RRFFQ69G5FAV", "hello"],
    ["such a title in quotes", '"task t-01ARZ3NDEKTSV4RRFFQ69G5FAV"', "hello"],
    ["nothing to read", "\u200b\u200b ** ##", "hello"],
  ]
) {
  Deno.test({
    name: `a model that answers with ${name} gives a harmless title`,
    ignore,
    async fn() {
      await using it = await begin({ text: [answer] });
      await it.turn("hello");
      await named(it);
      assertEquals(await titleIn(it), shown);
    },
  });
}

Deno.test({
  name: "a title that a person gives while the model is asked stays, and turns do not wait for it",
  ignore,
  async fn() {
    const gate = Promise.withResolvers<void>();
    await using it = await begin({ text: ["A ", "name"], hang_after: 1, go_on: gate.promise });
    await it.turn("hello");
    await it.event("lane.created", ({ data }) => data.label === "title");
    assertEquals((await it.turn("and on")).data.stop_reason, "ok");
    await it.call("session.configure", { title: "mine" });
    gate.resolve();
    await named(it);
    await it.turn("more");
    assertEquals([await titleIn(it), it.client.of("session.titled").length], ["mine", 0]);
    assertEquals(
      it.client.of("lane.created").filter(({ data }) => data.label === "title").length,
      1,
    );
  },
});

Deno.test({
  name: "without an answer the first message names the session, and the turn is whole",
  ignore,
  async fn() {
    await using it = await begin({ status: { code: 400, message: "no" } });
    const { data } = await it.turn(`\n  Why is it \u202e slow?\n${"x".repeat(5_000)}`);
    assertEquals(data.stop_reason, "ok");
    assertEquals(await named(it), "errored");
    assertEquals(await titleIn(it), "Why is it slow?");
  },
});

Deno.test({
  name: "no model names sessions with a title, of the toolbelt, untrusted ones, or when it is off",
  ignore,
  async fn() {
    await using it = await begin({ text: "A name" });
    const title = async (params: Record<string, unknown>, text: string) => {
      const id = await it.client.session({
        workdir: it.workdir,
        model: it.model,
        approval: "auto",
        ...params,
      });
      await it.client.turn(id, text);
      return (await it.client.rpc.call("session.get", { session_id: id })).title;
    };
    assertEquals(await title({ title: "given" }, "hello"), "given");
    assertEquals(
      await title({ model: "builtin/toolbelt" }, "run echo one\nrun echo two"),
      "run echo one",
    );
    assertEquals(await title({ trust: "untrusted" }, "hello"), "project");
    const work = "mission m-01ARZ3NDEKTSV4RRFFQ69G5FAV x";
    assertEquals(await title({ model: "builtin/toolbelt" }, work), "project");
    await it.client.rpc.call("daemon.set_config", { changes: { "agent.titles": false } });
    assertEquals(await title({}, "hello"), "project");
    assertEquals(it.client.of("lane.created").some(({ data }) => data.label === "title"), false);
  },
});

Deno.test({
  name: "where no small model is known, the first message stays the title, and no model is asked",
  ignore,
  async fn() {
    await using it = await begin({ text: "A name" }, { toml: "[agent]\ntitles = true\n" });
    await it.turn("Why is it slow?");
    await it.turn("And now?");
    assertEquals(await titleIn(it), "Why is it slow?");
    assertEquals(it.server.requests.length, 2);
  },
});

Deno.test({
  name: "the small model of a known provider is asked, and a session that ends calls it off",
  ignore,
  async fn() {
    const models: string[] = [];
    const server = startAnthropicServer((request) => {
      models.push(request.model);
      return asksForTitle(request) ? { text: "x", hang_after: 0 } : { text: "Certainly." };
    });
    const base = server.url;
    try {
      await using place = new Place({ ANTHROPIC_API_KEY: "sk-ant-key", ANTHROPIC_BASE_URL: base });
      place.configure("[cortex]\ncurator = false\n");
      const daemon = await place.serve();
      await using client = await daemon.rpc();
      const id = await client.session({
        workdir: place.mkdir("w"),
        model: "anthropic/claude-sonnet-4-5",
      });
      await client.turn(id, "hello");
      await client.wait(({ type, data }) =>
        type === "lane.status" && data.status === "running" &&
        data.lane_id !== "main"
      );
      while (models.length < 2) await new Promise((done) => setTimeout(done, 20));
      assertEquals(models, ["claude-sonnet-4-5", "claude-haiku-4-5"]);
      await client.rpc.call("session.kill", { session_id: id });
      const { title, state } = await client.rpc.call("session.get", { session_id: id });
      assertEquals([title, state], ["hello", "ended"]);
    } finally {
      await server.close();
    }
  },
});
