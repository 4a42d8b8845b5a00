/** What the web app's settings, costs and tasks need of the daemon, over the wire. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { SvcError } from "../../src/protocol/errors.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "settings are changed in the file, hold at once, and are there after a kill",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure("# mine\n[agent]\nmax_steps = 7 # few\n");
    let daemon = await place.serve();
    {
      await using client = await daemon.rpc();
      const { revision, path } = await client.rpc.call("daemon.get_config");
      assertEquals(path, join(place.home, "daemon.toml"));
      const changes = { "agent.approval": "read_only", "log.level": "debug" };
      const { restart } = await client.rpc.call("daemon.set_config", { changes, revision });
      assertEquals(restart, ["log.level"]);
      const id = await client.session({ workdir: place.mkdir("one") });
      assertEquals(
        (await client.rpc.call("session.get", { session_id: id })).approval,
        "read_only",
      );
      const late = await assertRejects(() =>
        client.rpc.call("daemon.set_config", { changes, revision })
      ) as SvcError;
      assertEquals(late.code, "conflict");
      const wrong = await assertRejects(() =>
        client.rpc.call("daemon.set_config", { changes: { "agent.max_steps": 0 } })
      ) as SvcError;
      assertStringIncludes(wrong.message, "agent.max_steps");
      const { default_model } = await client.rpc.call("daemon.info");
      assertEquals(default_model, "builtin/toolbelt");
    }
    await daemon.kill();
    daemon = await place.serve();
    await using client = await daemon.rpc();
    const { settings } = await client.rpc.call("daemon.get_config");
    assertEquals(settings["agent.approval"].value, "read_only");
    assertEquals([settings["log.level"].value, settings["log.level"].in_use], ["debug", undefined]);
    const text = Deno.readTextFileSync(join(place.home, "daemon.toml"));
    assertStringIncludes(text, "# mine\n[agent]\nmax_steps = 7 # few\n");
  },
});

Deno.test({
  name: "what each session and each model cost adds up to what all cost",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "One." }, { text: "Two." }], {
      start: { title: "dear" },
      toml: '[prices."local/model-1"]\ninput = 10\noutput = 20\n',
    });
    await it.turn("first");
    const other = await it.client.session({ workdir: it.place.mkdir("other"), model: it.model });
    await it.client.turn(other, "second");
    const current = await it.client.rpc.call("cost.get_current");
    assert(current.usd > 0);
    for (const bucket of ["minute", "hour", "day"]) {
      const since = new Date(Date.now() - 3_600_000).toISOString();
      const by = (by: string, limit?: number) =>
        it.client.rpc.call("cost.breakdown", { by, bucket, since, limit });
      const sessions = await by("session");
      assertEquals(sessions.groups.length, 2);
      assertEquals(sessions.groups.some(({ title }: { title: string }) => title === "dear"), true);
      const models = await by("model");
      assertEquals(models.groups.map(({ key }: { key: string }) => key), [it.model]);
      for (const { total } of [sessions, models]) {
        assertEquals(
          [total.usd.toFixed(9), total.tokens_in, total.tokens_out],
          [current.usd.toFixed(9), current.tokens_in, current.tokens_out],
        );
      }
      const [first] = (await by("session", 1)).groups;
      const { other: rest } = await by("session", 1);
      assertEquals((first.usd + rest.usd).toFixed(9), current.usd.toFixed(9));
    }
    const later = await it.client.rpc.call("cost.breakdown", {
      by: "model",
      since: new Date(Date.now() + 86_400_000).toISOString(),
    });
    assertEquals(later.groups, []);
  },
});

Deno.test({
  name: "a task's log is pushed until its end, and its artifacts are for the bearer alone",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("project");
    Deno.writeTextFileSync(join(workdir, "notes.txt"), "The bridge was built in 1901.\n");
    await client.rpc.call("queue.pause");
    const extra = { workdir, files: ["notes.txt"] };
    const query = "When was the bridge built?";
    const { id, effort, subject } = await client.rpc.call("queue.enqueue", {
      task_type: "research",
      query,
      extra,
    });
    assertEquals([effort, subject], ["standard", query]);
    const { extra: options } = await client.rpc.call("task.options");
    assertEquals(Object.keys(options).sort(), ["browser", "code", "deploy", "research"]);
    assert("files" in options.research.properties);
    const { sub } = await client.rpc.call("task.follow", { task_id: id });
    await client.rpc.call("queue.resume");
    await client.wait((event) => event.sub === sub && event.type === "task.completed", "its end");
    const types = client.events.filter((event) => event.sub === sub).map(({ type }) => type);
    assertEquals([types[0], types.at(-1)], ["task.enqueued", "task.completed"]);
    const { artifacts: [artifact] } = await client.rpc.call("task.get", { task_id: id });
    const url = `${daemon.url}/v1/tasks/${id}/artifacts/${artifact.name}`;
    const authorization = `Bearer ${daemon.token}`;
    const response = await fetch(url, { headers: { authorization } });
    assertEquals(response.status, 200);
    assertEquals((await response.arrayBuffer()).byteLength, artifact.size);
    assertStringIncludes(response.headers.get("content-disposition")!, "attachment");
    assertStringIncludes(response.headers.get("content-security-policy")!, "sandbox");
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    for (
      const [address, headers, status] of [
        [url, {}, 401],
        [url, { authorization: "Bearer wrong" }, 401],
        [`${url}.not`, { authorization }, 404],
        [url.replace(artifact.name, "..%2f..%2fstate.db"), { authorization }, 404],
        [url, { authorization, origin: "https://example.com" }, 403],
      ] as [string, Record<string, string>, number][]
    ) {
      const refused = await fetch(address, { headers });
      await refused.body?.cancel();
      assertEquals([address, refused.status], [address, status]);
    }
  },
});
