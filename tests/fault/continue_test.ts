/**
 * A daemon that is killed, or told to stop, again and again in the middle of turns. Each turn ends as
 * it would have, what its model is asked is the same byte for byte, except for the results that nobody
 * can know, and no call that was answered is made twice.
 *
 * SVC_CONTINUE_KILLS sets the number of kills, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { decodeRecord } from "../../src/session/record.ts";
import { isUnknown } from "../support/cut_model.ts";
import { type Answer, saidIn, type Scripted, startOpenAiServer } from "../support/model_servers.ts";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place, type TestClient, tests_binary } from "../support/svc.ts";

const asked_for = granted("env") && Deno.env.get("SVC_CONTINUE_KILLS");
// Of the binary, unless it is asked for: a start from source takes longer than what is looked at.
const ignore = !can_run_svc || Deno.build.os === "windows" || !(tests_binary || asked_for);
const KILLS = Number(asked_for || 12);
/** A turn takes at least 230 ms: its pauses alone do. The kills are spread over this. */
const A_TURN_MS = 300;
const OUT = "effects.txt";
/** What a request says of a call that was cut off, before or after its last line. */
const UNKNOWN = new RegExp(`(?:done\\\\n\\[)?${UNKNOWN_OUTCOME}\\]?`, "g");

/** What the model says in a turn; which step it is follows from the conversation alone. */
const script: Scripted = ({ messages }): Answer => {
  const asked = messages.findLastIndex((it) => it.role === "user");
  const [, task] = saidIn((messages[asked] as { text: string }).text)!.match(/task (\d+)/)!;
  const step = messages.slice(asked).filter((it) => it.role === "assistant").length;
  let count = 0;
  const effect = (pause = "") => {
    const mark = `${task}.${step}.${++count}`;
    const command = `${pause}echo ${mark} >> ${OUT}; ${pause}echo done`;
    return { id: `call_${mark}`, name: "run_command", args: { command } };
  };
  const read = { id: `call_r${task}.${step}`, name: "read_file", args: { path: "a.txt" } };
  const text = Array(8).fill(`words of ${task}.${step} `);
  const pace_ms = 4;
  if (step === 0) return { text, pace_ms, calls: [read, effect()] };
  if (step === 1) return { calls: [effect("sleep 0.05; "), effect(), effect()] };
  if (step === 2) return { text, pace_ms, calls: [effect()] };
  return { text, pace_ms };
};

function readJournal(workdir: string, session_id: string): SessionEvent[] {
  const path = join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
  return Deno.readTextFileSync(path).trimEnd().split("\n").map(decodeRecord);
}

const ends = (events: SessionEvent[]) =>
  events.flatMap((it) => it.type === "turn.completed" ? [it.data] : [])
    .filter(({ stop_reason }) => stop_reason !== "interrupted");

Deno.test({
  name: `${KILLS} kills and stops in turns: each turn ends as it would have, each effect once`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    await using place = new Place();
    const requests = { plain: new Set<string>(), cut: new Set<string>() };
    const workdirs = { plain: place.mkdir("plain"), cut: place.mkdir("cut") };
    let which: keyof typeof requests = "cut";
    const server = startOpenAiServer((request) => {
      const body = JSON.stringify(request.body).replaceAll(workdirs[which], "WORKDIR");
      requests[which].add(body.replaceAll(UNKNOWN, "done"));
      return script(request);
    }, { open: true, capture: false });
    place.useLocalModel(server.url, `[agent]\napproval = "auto"\ncontinue = "always"\n`);
    const session_ids = { plain: "", cut: "" };
    let daemon = await place.serve();
    {
      await using client = await daemon.rpc();
      for (const name of ["plain", "cut"] as const) {
        const workdir = workdirs[name];
        Deno.writeTextFileSync(join(workdir, "a.txt"), "the text of a\n");
        session_ids[name] = await client.session({ workdir, model: "local/m" });
      }
    }
    const session_id = session_ids.cut;
    let turns = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      {
        await using client = await daemon.rpc();
        if (await goesOn(client, session_id)) {
          if (kill % 5 === 0) await rest(client, session_id);
        } else {
          const text = `task ${++turns}`;
          await client.rpc.call("session.send", { session_id, text });
        }
        await delay((7 * kill % KILLS + random.next()) / KILLS * A_TURN_MS);
        if (random.chance(0.3)) {
          await client.rpc.call("daemon.shutdown", { grace_s: 0 });
          await daemon.ended();
        } else await daemon.kill();
      }
      daemon = await place.serve();
    }
    {
      await using client = await daemon.rpc();
      await rest(client, session_id);
      which = "plain";
      await client.rpc.call("session.subscribe", { session_id: session_ids.plain });
      for (let n = 1; n <= turns; n++) await client.turn(session_ids.plain, `task ${n}`);
    }
    await daemon.stop();
    await server.close();

    const events = readJournal(workdirs.cut, session_id);
    const plain = ends(readJournal(workdirs.plain, session_ids.plain));
    assertEquals(
      ends(events).map(({ stop_reason, message }) => [stop_reason, message]),
      plain.map(({ stop_reason, message }) => [stop_reason, message]),
    );
    assertEquals(plain.length, turns);
    for (const request of requests.cut) {
      assert(requests.plain.has(request), differenceOf(request, requests.plain));
    }
    const unknown = checkEffects(events, Deno.readTextFileSync(join(workdirs.cut, OUT)));
    const went_on = events.filter(({ type }) => type === "turn.continued").length;
    console.log(`${KILLS} kills, ${turns} turns, ${went_on} went on, ${unknown} unknown results`);
    assertGreater(went_on, KILLS / 4);
  },
});

/** Where a request leaves those that it should be among. */
function differenceOf(request: string, among: ReadonlySet<string>): string {
  const shared = (other: string) => {
    let at = 0;
    while (at < request.length && request[at] === other[at]) at++;
    return at;
  };
  const at = Math.max(...[...among].map(shared));
  const near = [...among].find((it) => shared(it) === at)!;
  const part = (text: string) => text.slice(Math.max(at - 200, 0), at + 200);
  return `not a request of the turns without kills:\n${part(request)}\nbut:\n${part(near)}`;
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

/** Holds what the commands have written against their results. @returns how many are unknown. */
function checkEffects(events: SessionEvent[], written: string): number {
  const times = (mark: string) => written.split("\n").filter((line) => line === mark).length;
  const results = new Map<string, string[]>();
  for (const { type, data } of events) {
    if (type !== "session.tool_completed" || data.tool !== "run_command") continue;
    const mark = data.call_id.replace("call_", "");
    results.set(mark, [...results.get(mark) ?? [], data.output]);
  }
  let unknown = 0;
  for (const [mark, outputs] of results) {
    assertEquals(outputs.length, 1, `the call ${mark} has one result`);
    if (isUnknown(outputs[0])) {
      unknown++;
      assert(times(mark) <= 1, `${mark} was done ${times(mark)} times`);
    } else assertEquals(times(mark), 1, `${mark}: ${outputs[0]}`);
  }
  return unknown;
}
