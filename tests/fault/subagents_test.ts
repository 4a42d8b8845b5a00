/**
 * A daemon that is killed, or told to stop, again and again in the middle of turns with subagents. Each
 * turn ends well, each call has one result, and no effect comes twice.
 *
 * SVC_SUBAGENT_KILLS sets the number of kills, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { decodeRecord } from "../../src/session/record.ts";
import { applyToState, emptyState } from "../../src/session/state.ts";
import { isUnknown } from "../support/cut_model.ts";
import { type Answer, saidIn, type Scripted, startOpenAiServer } from "../support/model_servers.ts";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place, type TestClient, tests_binary } from "../support/svc.ts";

const asked_for = granted("env") && Deno.env.get("SVC_SUBAGENT_KILLS");
// Of the binary, unless it is asked for: a start from source takes longer than what is looked at.
const ignore = !can_run_svc || Deno.build.os === "windows" || !(tests_binary || asked_for);
const KILLS = Number(asked_for || 12);
const OUT = "effects.txt";

/** What a model says; which step it is follows from the conversation alone. */
const script: Scripted = ({ messages }): Answer => {
  const asked = messages.findLastIndex((it) => it.role === "user");
  const text = saidIn((messages[asked] as { text: string }).text)!;
  const step = messages.slice(asked).filter((it) => it.role === "assistant").length;
  const [kind, name] = text.split(" ");
  const effect = (n: number, pause: string) => {
    const mark = `${name}.${step}.${n}`;
    const command = `sleep ${pause}; echo ${mark} >> ${OUT}; sleep ${pause}; echo done`;
    // As many models do, the calls of each conversation are numbered from one.
    return { id: `call_${step}_${n}`, name: "run_command", args: { command } };
  };
  const usage = { input: 1_000, output: 1_000 };
  if (kind === "task") {
    if (step > 0) return { text: `end of ${name}`, usage };
    const agents = [1, 2, 3].map((n) => ({
      id: `call_${name}_${n}`,
      name: "agent",
      args: { description: `part ${n}`, task: `part ${name}_${n}` },
    }));
    return { text: "Parts.", calls: [...agents, effect(9, "0.01")], usage };
  }
  if (step === 2) return { text: [`whole `, name], pace_ms: 4, usage };
  return { text: ["On ", "it."], pace_ms: 4, calls: [effect(1, "0.03")], usage };
};

Deno.test({
  name: `${KILLS} kills and stops in turns with subagents: each turn ends, each effect comes once`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    await using place = new Place();
    let mixed = 0;
    const server = startOpenAiServer((request) => {
      // What a subagent was told or said is nowhere in the conversation that it works for.
      const main = /"task \d/.test(JSON.stringify(request.messages[0]));
      if (main && JSON.stringify(request.messages).includes("On it.")) mixed++;
      return script(request);
    }, { open: true, capture: false });
    place.useLocalModel(
      server.url,
      '[agent]\napproval = "auto"\ncontinue = "always"\n[prices."local/m"]\ninput = 1\noutput = 1\n',
    );
    const workdir = place.mkdir("project");
    let daemon = await place.serve();
    let session_id = "";
    {
      await using client = await daemon.rpc();
      session_id = await client.session({ workdir, model: "local/m" });
    }
    let turns = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      {
        await using client = await daemon.rpc();
        await client.rpc.call("session.subscribe", { session_id });
        // Of four kills one comes while subagents work, one after their turn, and two whenever.
        const when = (["after", "within"] as const)[kill % 4];
        if (when !== undefined) await rest(client, session_id);
        let sent = 0;
        if (!await goesOn(client, session_id)) {
          const message = { session_id, text: `task t${++turns}` };
          ({ seq: sent } = await client.rpc.call("session.send", message));
        }
        if (when === undefined) await delay(random.below(random.chance(0.3) ? 4_000 : 1_200));
        else {
          const awaited = when === "after" ? "turn.completed" : "subagent.started";
          await client.wait(({ seq, type }) => seq > sent && type === awaited, awaited);
          // Less than a subagent takes.
          if (when === "within") await delay(random.below(60));
        }
        if (random.chance(0.25)) {
          await client.rpc.call("daemon.shutdown", { grace_s: 0 });
          await daemon.ended();
        } else await daemon.kill();
      }
      daemon = await place.serve();
    }
    await using client = await daemon.rpc();
    await rest(client, session_id);
    const live = await client.rpc.call("session.get", { session_id });
    const { lanes } = await client.rpc.call("lanes.list", { session_id });
    await client[Symbol.asyncDispose]();
    await daemon.stop();
    await server.close();

    const events = readJournal(workdir, session_id);
    const ends = events.flatMap((it) => it.type === "turn.completed" ? [it.data] : [])
      .filter(({ stop_reason }) => stop_reason !== "interrupted");
    assertEquals(ends.map(({ stop_reason }) => stop_reason), Array(turns).fill("ok"));
    ends.forEach(({ message }, n) => assert(message.endsWith(`end of t${n + 1}`), message));
    assertEquals(mixed, 0);

    const state = emptyState(session_id);
    for (const event of events) applyToState(state, event);
    assertEquals([live.cost_usd, live.tokens_in], [state.cost_usd, state.tokens_in]);
    const open = lanes.filter(({ status }: { status: string }) =>
      ["pending", "running", "blocked"].includes(status)
    );
    assertEquals(open.length, 1, "only the main lane is open");

    const counts = checkEffects(events, Deno.readTextFileSync(join(workdir, OUT)));
    console.log(`${KILLS} kills, ${turns} turns, ${JSON.stringify(counts)}`);
    assertGreater(counts.cut, KILLS / 4);
    assertGreater(counts.whole, 0);
  },
});

function readJournal(workdir: string, session_id: string): SessionEvent[] {
  const path = join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
  return Deno.readTextFileSync(path).trimEnd().split("\n").map(decodeRecord);
}

/** Has the turn that was cut off go on. @returns whether there is one. */
async function goesOn(client: TestClient, session_id: string): Promise<boolean> {
  const { activity, cut_off } = await client.rpc.call("session.get", { session_id });
  if (activity !== "idle") return true;
  // Cut off too often to go on by itself.
  if (cut_off) await client.rpc.call("session.continue", { session_id });
  return cut_off;
}

/** Waits until no turn runs and none was cut off. */
async function rest(client: TestClient, session_id: string): Promise<void> {
  await until(async () => !(await goesOn(client, session_id)), "the session is idle", 60_000);
}

/** Holds what the commands have written against what was told of them. */
function checkEffects(events: SessionEvent[], written: string) {
  const lines = written.trimEnd().split("\n");
  assertEquals(new Set(lines).size, lines.length, "no effect comes twice");
  const results = new Map<string, string[]>();
  const counts = { whole: 0, cut: 0, unknown: 0, effects: lines.length };
  for (const { type, data } of events) {
    if (type !== "session.tool_completed") continue;
    const { call_id, tool, output } = data;
    if (tool !== "agent") {
      if (isUnknown(output)) counts.unknown++;
      continue;
    }
    results.set(call_id, [...results.get(call_id) ?? [], output]);
    const name = call_id.replace("call_", "");
    if (output === `whole ${name}`) {
      counts.whole++;
      for (const step of [0, 1]) assert(lines.includes(`${name}.${step}.1`), `${name}.${step}`);
    } else {
      if (output !== UNKNOWN_OUTCOME) assert(output.includes("did not finish"), output);
      counts.cut++;
      for (const [, mark] of output.matchAll(/echo (\S+) >>[^\n]*: done$/gm)) {
        assert(lines.includes(mark), mark);
      }
    }
  }
  for (const [call_id, outputs] of results) assertEquals(outputs.length, 1, call_id);
  const begun = events.filter(({ type }) => type === "subagent.started").length;
  assert(begun <= results.size, `${begun} began for ${results.size} calls`);
  return counts;
}
