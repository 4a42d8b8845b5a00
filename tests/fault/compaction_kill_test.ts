/**
 * A daemon that is killed again and again in turns whose conversation is made shorter. Each request
 * is, byte for byte, what the journal gives when it is read from its beginning by one that was never
 * killed; a compaction that was cut off has no effect.
 *
 * SVC_COMPACTION_KILLS sets the number of kills, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { SYSTEM_PROMPT } from "../../src/agent/prefix.ts";
import { providerModel } from "../../src/models/providers.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { decodeRecord } from "../../src/session/record.ts";
import { Transcript } from "../../src/session/transcript.ts";
import { askFor, asksForSummary, fact, forgetful } from "../support/forgetful.ts";
import { tinyPng } from "../support/media.ts";
import { type Json, type Scripted, startOpenAiServer } from "../support/model_servers.ts";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place, type TestClient, tests_binary } from "../support/svc.ts";

const asked_for = granted("env") && Deno.env.get("SVC_COMPACTION_KILLS");
// Of the binary, unless it is asked for: a start from source takes longer than what is looked at.
const ignore = !can_run_svc || Deno.build.os === "windows" || !(tests_binary || asked_for);
/** Twelve are each combination of what comes before a kill. */
const KILLS = Number(asked_for || 12);
const LIMIT = 16_000;
const LONG = "a long message that fills the context soon ".repeat(120);

Deno.test({
  name: `${KILLS} kills in turns with compaction: each request is what the conversation gives`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    let calls = 0;
    const { script, seen } = forgetful({
      limit: LIMIT,
      answer: ({ messages }) => {
        if (messages.at(-1)?.role === "tool" || random.chance(0.5)) {
          return { text: Array(20).fill("some words of an answer "), pace_ms: 2 };
        }
        const path = random.chance(0.3) ? "shot.png" : "long.txt";
        return { calls: [{ id: `call_${++calls}`, name: "read_file", args: { path } }] };
      },
      summary: (facts) => ({ text: Array(20).fill("said ").concat(facts), pace_ms: 5 }),
    });
    const asked = new Set<string>();
    const recorded: Scripted = (request) => {
      if (!asksForSummary(request)) asked.add(JSON.stringify(request.body.messages));
      return script(request);
    };
    const server = startOpenAiServer(recorded, { open: true, capture: false });
    await using place = new Place();
    place.useLocalModel(
      server.url,
      `context_tokens = ${LIMIT}\nimages = true\n[agent]\napproval = "auto"\n`,
    );
    const workdir = place.mkdir("project");
    Deno.writeTextFileSync(join(workdir, "long.txt"), `${"x".repeat(79)}\n`.repeat(60));
    Deno.writeFileSync(join(workdir, "shot.png"), tinyPng());
    let daemon = await place.serve();
    let session_id = "";
    {
      await using client = await daemon.rpc();
      session_id = await client.session({ workdir, model: "local/m" });
      await client.turn(session_id, fact("alpha", "q7f3"));
    }
    for (let kill = 1; kill <= KILLS; kill++) {
      {
        await using client = await daemon.rpc();
        await client.rpc.call("session.subscribe", { session_id });
        for (let turns = kill % 3; turns > 0; turns--) {
          await client.turn(session_id, `${kill}: ${LONG}`);
        }
        const shown = kill % 2 === 0
          ? [{ data: tinyPng({ width: 1 + random.below(8) }).toBase64() }]
          : undefined;
        const message = { session_id, text: `${kill}: ${LONG}`, attachments: shown };
        const working = [client.rpc.call("session.send", message)];
        if (kill % 4 < 2) working.push(client.rpc.call("session.compact", { session_id }));
        // What the kill cuts off has no answer.
        for (const call of working) call.catch(() => {});
        if (random.chance(0.5)) await compacting(client);
        await delay(random.below(120));
        await daemon.kill();
        await Promise.allSettled(working);
      }
      daemon = await place.serve();
      await using client = await daemon.rpc();
      await rest(client, session_id);
    }
    await using client = await daemon.rpc();
    await client.rpc.call("session.subscribe", { session_id });
    const { data } = await client.turn(session_id, askFor("alpha"));
    assertEquals(data.message, "q7f3");
    assertEquals(seen.refused, 0);
    await daemon.stop();

    const dir = join(workdir, ".svc", "sessions", session_id);
    const events = Deno.readTextFileSync(join(dir, "journal.ndjson")).trimEnd().split("\n").map(
      decodeRecord,
    );
    const files = new Map(
      [...Deno.readDirSync(join(dir, "attachments"))].map(({ name }) => [
        name,
        Deno.readFileSync(join(dir, "attachments", name)).toBase64(),
      ]),
    );
    const { checked, tools } = await checkRequests({ events, files }, asked, server.url);
    assert([...asked].some((request) => request.includes("data:image/png;base64,")));
    await server.close();
    assertGreater(checked, KILLS / 2);
    assertEquals(tools, 0);
    const compactions = events.filter(({ type }) => type === "session.compacted").length;
    const begun = events.filter((it) =>
      it.type === "lane.created" && it.data.label === "compaction"
    );
    console.log(
      `${KILLS} kills, ${checked} requests, ${compactions} compactions, ` +
        `${begun.length} summaries begun`,
    );
    assertGreater(compactions, 0);
    assertGreater(begun.length, compactions / 4, "some were cut off in the summary");
  },
});

/** Resolves when a summary is being written, or the turn is over without one. */
async function compacting(client: TestClient): Promise<void> {
  await until(
    () =>
      client.events.some(({ type, data }) =>
        type === "turn.completed" || type === "lane.delta" && data.lane_id !== "main"
      ),
    "a summary or the end of the turn",
  );
}

/** Waits until no turn runs. */
async function rest(client: TestClient, session_id: string): Promise<void> {
  await until(
    async () => {
      const { activity, state } = await client.rpc.call("session.get", { session_id });
      return activity === "idle" && state === "running";
    },
    "the session is idle",
    60_000,
  );
}

/** Holds each answered request against the one that the events before it give. */
async function checkRequests(
  { events, files }: { events: readonly SessionEvent[]; files: ReadonlyMap<string, string> },
  asked: ReadonlySet<string>,
  base_url: string,
): Promise<{ checked: number; tools: number }> {
  const seen = new Set(
    events.flatMap((it) =>
      it.type === "cost.tick" && it.data.lane_id === undefined ? [it.data.seen_seq] : []
    ),
  );
  const transcript = new Transcript();
  let checked = 0;
  let body: Json;
  const recorder = startOpenAiServer((request) => {
    body = request.body;
    return { text: ["ok"] };
  }, { open: true, capture: false });
  const config = {
    name: "local",
    kind: "openai-compatible",
    base_url: recorder.url,
    images: true,
  } as const;
  const model = await providerModel(config, new URL(base_url).host);
  for (const event of events) {
    transcript.apply(event);
    if (!seen.has(event.seq)) continue;
    const signal = AbortSignal.timeout(60_000);
    const messages = transcript.prompt();
    const request = { system: SYSTEM_PROMPT, messages, files, tools: [], signal };
    for await (const part of model.stream(request)) assert(part.type !== "call");
    assert(asked.has(JSON.stringify(body.messages)), `the request after seq ${event.seq}`);
    checked++;
  }
  await recorder.close();
  return { checked, tools: body.tools?.length ?? 0 };
}
