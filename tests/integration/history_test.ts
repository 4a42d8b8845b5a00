/** The verbs that the web app is built on: recorded events page by page, directories, all verbs. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { SvcError } from "../../src/protocol/errors.ts";
import { VERBS } from "../../src/features/registry.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

interface Page {
  events: { seq: number; type: string; data: { lane_id?: string } }[];
  last_seq: number;
  more: boolean;
}

async function pages(it: Scenario, params: Record<string, unknown>): Promise<Page[]> {
  const found: Page[] = [];
  for (let since_seq = 0;;) {
    const page: Page = await it.call("session.history", { since_seq, ...params });
    found.push(page);
    if (!page.more) return found;
    since_seq = page.last_seq;
  }
}

Deno.test({
  name: "session.history gives page by page what a subscriber is pushed",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: ["a ", "b ", "c"] }]);
    const { seq } = await it.turn("go");
    const pushed = it.client.events.map(({ seq, at, type, data }) => ({ seq, at, type, data }));
    for (const limit of [1, 3, 1_000]) {
      const found = await pages(it, { limit });
      assertEquals(found.flatMap(({ events }) => events) as unknown[], pushed, `${limit}`);
      assertEquals(found.at(-1)!.last_seq, seq);
      assert(found.every(({ events }) => events.length <= limit));
    }
    const types = async (deltas: string) =>
      new Set(
        (await pages(it, { deltas })).flatMap(({ events }) => events.map(({ type }) => type)),
      );
    assert(!(await types("session")).has("lane.delta"));
    assert(!(await types("lane")).has("session.delta"));
    // What is left out moves the place on all the same.
    assertEquals((await pages(it, { deltas: "session", limit: 2 })).at(-1)!.last_seq, seq);
    const { events } = await it.call("session.history", { since_seq: seq });
    assertEquals(events, []);
  },
});

Deno.test({
  name: "session.history of a rewritten journal begins with its checkpoint",
  ignore,
  async fn() {
    const text = "x".repeat(20_000);
    await using it = await Scenario.begin(() => ({ text: [text] }), {
      toml: "[journal]\nretention_mb = 0.2\n",
    });
    const journal = join(it.workdir, ".svc", "sessions", it.session_id, "journal.ndjson");
    const rewritten = () => Deno.readTextFileSync(journal).includes('"kind":"session.checkpoint"');
    for (let n = 0; n < 20 && !rewritten(); n++) await it.turn("go");
    await until(rewritten, "the journal is rewritten");
    const [first, ...rest] = (await pages(it, { limit: 1_000 })).flatMap(({ events }) => events);
    assertEquals(first.type, "session.checkpoint");
    assertEquals(rest.map(({ seq }) => seq), rest.map((_, n) => first.seq + 1 + n));
    const error = await assertRejects(
      () => it.call("session.history", { since_seq: first.seq - 1 }),
      SvcError,
    );
    assertEquals(error.code, "journal_trimmed");
  },
});

Deno.test({
  name: "daemon.verbs describes each verb; daemon.list_dirs begins where sessions may",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project/inner");
    place.configure(`default_workdir = "${join(place.dir, "project")}"\n`);
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { verbs } = await client.rpc.call("daemon.verbs");
    assertEquals(verbs.map((it: { name: string }) => it.name), VERBS.map(({ name }) => name));
    const kill = verbs.find((it: { name: string }) => it.name === "session.kill");
    assertEquals([kill.access, kill.destructive, kill.input.required], ["write", true, [
      "session_id",
    ]]);
    const { directories, parent } = await client.rpc.call("daemon.list_dirs");
    assertEquals(directories, [{ name: "inner", path: workdir, repository: false }]);
    assertEquals(parent, place.dir);
  },
});
