import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { EventParams } from "../../src/client/rpc.ts";
import type { Answer, ParsedRequest } from "../support/model_servers.ts";
import { PROVIDERS, Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;

const isCurators = ({ system }: ParsedRequest) => system.startsWith("You keep the memory");

interface Proposed {
  category: string;
  scope?: string;
  content: string;
}

/** A scenario whose model says something in turns, and to its curators what `propose` gives. */
function begin(propose: (request: ParsedRequest) => Answer, options: ScenarioOptions = {}) {
  return Scenario.begin(
    (request) => isCurators(request) ? propose(request) : { text: "Understood." },
    { curator: true, ...options },
  );
}

function proposing(...entries: Proposed[]): Answer {
  return { text: JSON.stringify({ entries }) };
}

/** The end of the `count`th lane of a curator. */
async function laneEnd(it: Scenario, count: number): Promise<EventParams> {
  const lobes = () => it.client.of("lane.created").filter(({ data }) => data.kind === "lobe");
  await it.client.wait(() => lobes().length >= count, `lobe ${count}`);
  const { lane_id } = lobes()[count - 1].data;
  return await it.event(
    "lane.status",
    ({ data }) =>
      data.lane_id === lane_id && ["done", "errored", "cancelled"].includes(data.status),
  );
}

for (const provider of PROVIDERS) {
  Deno.test({
    name: `${provider}: a turn that is over is read, and a fact of it remembered and audited`,
    ignore,
    async fn() {
      const fact = { category: "fact", scope: "AllSessions", content: "The person is called Ann." };
      const questions: string[] = [];
      await using it = await begin(({ messages: [asked] }) => {
        if (asked.role === "user") questions.push(asked.text);
        return proposing(fact);
      }, { provider });
      const { data, seq } = await it.turn("My name is Ann");
      const end = await laneEnd(it, 1);
      assertEquals([end.data.status, end.data.reason], ["done", "the turn has been read"]);
      const { max_tokens, tools } = it.server.requests[1].body;
      assertEquals([max_tokens, tools], [4_000, undefined]);
      assertStringIncludes(questions[0], "Person: My name is Ann\n\nAgent: Understood.");
      const [written] = it.client.of("memory.written");
      assertEquals([written.data.category, written.data.scope], ["fact", "AllSessions"]);
      const { records } = await it.client.rpc.call("cortex.audit", {});
      const { entry_id, content_sha, source_msg_id } = records[0];
      assertEquals([entry_id, content_sha], [written.data.entry_id, written.data.content_sha]);
      assertEquals(source_msg_id, it.client.of("user.message")[0].data.message_id);
      // It is the lane's cost and the session's, not the turn's.
      const { lane_id } = end.data;
      const tick = it.client.of("cost.tick").find((event) => event.data.lane_id === lane_id)!;
      assert(tick.seq > seq && tick.data.tokens_in > 0);
      const session = await it.call("session.get");
      assertEquals(session.tokens_in, data.usage.tokens_in + tick.data.tokens_in);
      assertEquals(session.activity, "idle");

      await it.turn("What am I called?");
      await laneEnd(it, 2);
      assertStringIncludes(
        it.asked[2].map((message) => "text" in message && message.text).join(),
        fact.content,
      );
      // It reads what is new, and knows what it wrote: the same is not written twice.
      assert(!questions[1].includes("My name is Ann"));
      assertStringIncludes(
        questions[1],
        JSON.stringify({ category: "fact", content: fact.content }),
      );
      assertEquals(it.client.of("memory.written").length, 1);
    },
  });
}

Deno.test({
  name: "the curator asks before it writes anything but a fact, while the session goes on",
  ignore,
  async fn() {
    const gotcha = (content: string) => ({ category: "gotcha", content });
    await using it = await begin(() => proposing(gotcha("Trap one"), gotcha("Trap two")), {
      start: { approval: "ask" },
    });
    await it.turn("It broke again");
    const decide = async (count: number, decision: string) => {
      await it.client.wait(() => it.client.of("approval.requested").length >= count, "an approval");
      const { data } = it.client.of("approval.requested")[count - 1];
      await it.call("session.approve", { approval_id: data.approval_id, decision });
      return data;
    };
    const asked = await decide(1, "deny");
    assertEquals([asked.tool, asked.args.content], ["remember", "Trap one"]);
    assertStringIncludes(asked.reason, "Trap one");
    await decide(2, "allow");
    const { data: { lane_id, status } } = await laneEnd(it, 1);
    assertEquals([status, asked.lane_id], ["done", lane_id]);
    const { entries } = await it.client.rpc.call("cortex.recall", { query: "traps" });
    assertEquals(entries.map(({ content }: Proposed) => content), ["Trap two"]);

    // What nobody answers is passed over when the next turn has ended.
    const before = it.client.of("approval.requested").length;
    await it.turn("And again");
    await it.client.wait(() => it.client.of("approval.requested").length > before, "an approval");
    assertEquals((await it.turn("Never mind")).data.stop_reason, "ok");
    const { data } = await laneEnd(it, 2);
    assertEquals([data.status, data.reason], ["cancelled", "the next turn has ended"]);
  },
});

Deno.test({
  name: "a curator that is killed, or whose daemon stops, leaves the model and remembers nothing",
  ignore,
  async fn() {
    const fact = { category: "fact", content: "Half a fact" };
    await using it = await begin(() => ({ ...proposing(fact), hang_after: 1 }));
    await it.turn("one");
    const { data: { lane_id } } = await it.event("lane.created", ({ data }) =>
      data.kind === "lobe");
    await until(() => it.server.requests.length >= 2, "its request");
    await it.call("lanes.kill", { lane_id });
    assertEquals((await laneEnd(it, 1)).data.status, "cancelled");
    await it.turn("two");
    const lobes = () => it.client.of("lane.created").filter(({ data }) => data.kind === "lobe");
    await it.client.wait(() => lobes().length === 2, "the second lobe");
    await until(() => it.server.requests.length >= 4, "its request");
    await it.daemon.stop();
    const daemon = await it.place.serve();
    await using client = await daemon.rpc();
    const { lanes } = await client.rpc.call("lanes.list", { session_id: it.session_id });
    assertEquals(
      lanes.filter(({ kind }: { kind: string }) => kind === "lobe")
        .map(({ status }: { status: string }) => status),
      ["cancelled", "cancelled"],
    );
    const { entries } = await client.rpc.call("cortex.recall", { query: "fact" });
    assertEquals(entries, []);
    for (const { body, ended } of it.server.requests) {
      if (JSON.stringify(body).includes("You keep the memory")) {
        assertEquals(await ended, "closed by client");
      }
    }
  },
});

Deno.test({
  name: "turns that follow each other quickly are read, each once",
  ignore,
  async fn() {
    const questions: string[] = [];
    await using it = await begin(({ messages: [asked] }) => {
      if (asked.role === "user") questions.push(asked.text);
      return proposing();
    });
    await it.turn("First I say this");
    await it.turn("Then I say that");
    // Together, unless the machine is very slow.
    await until(() => questions.some((it) => it.includes("Then I say that")), "the second turn");
    for (const said of ["First I say this", "Then I say that"]) {
      assertEquals(questions.filter((question) => question.includes(said)).length, 1, said);
    }
  },
});

Deno.test({
  name: "a session that may only read has no curator, nor has any while it is paused",
  ignore,
  async fn() {
    await using it = await begin(() => proposing());
    const { rpc } = it.client;
    const reading = await it.client.session({
      workdir: it.place.mkdir("reading"),
      model: it.model,
      approval: "read_only",
    });
    const untrusted = await it.client.session({
      workdir: it.place.mkdir("untrusted"),
      model: it.model,
      trust: "untrusted",
    });
    await it.client.turn(reading, "only read");
    await it.client.turn(untrusted, "not trusted");
    await rpc.call("cortex.lobe_pause", { lobe: "curator" });
    await it.turn("while paused");
    const is = async (status: string) => {
      const { lobes } = await rpc.call("cortex.lobes_list", {});
      return lobes.find(({ lobe }: { lobe: string }) => lobe === "curator").status === status;
    };
    assert(await is("paused"));
    await rpc.call("cortex.lobe_resume", { lobe: "curator" });
    await it.client.turn(
      await it.client.session({
        workdir: it.place.mkdir("later"),
        model: it.model,
      }),
      "after all of them",
    );
    await laneEnd(it, 1);
    assertEquals(it.client.of("lane.created").filter(({ data }) => data.kind === "lobe").length, 1);
    await until(() => is("idle"), "the end of its work");
  },
});

Deno.test({
  name: "an answer of the curator's model that cannot be used is its lane's failure alone",
  ignore,
  async fn() {
    const answers: Answer[] = [
      { status: { code: 400, message: "no such model" } },
      { text: "There is nothing to remember." },
      proposing({ category: "fact", content: `The key is sk-${"x1".repeat(12)}` }),
    ];
    await using it = await begin(() => answers.shift()!);
    assertEquals((await it.turn("one")).data.stop_reason, "ok");
    const { data } = await laneEnd(it, 1);
    assertEquals(data.status, "errored");
    assertStringIncludes(data.reason, "no such model");
    await it.turn("two");
    assertEquals((await laneEnd(it, 2)).data.status, "done");
    await it.turn("three");
    const { data: { lane_id, status } } = await laneEnd(it, 3);
    assertEquals(status, "done");
    const { deltas } = await it.call("lanes.get", { lane_id });
    assertStringIncludes(deltas[0].text, "looks like an API key");
    assertEquals(it.client.of("memory.written"), []);
  },
});
