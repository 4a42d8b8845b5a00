/**
 * Kills, stops and restarts of a daemon at random moments of two conversations with reads, edits,
 * commands, questions, steering and compaction. Each turn ends as it would have without them. A
 * scripted model checks each request, and two files count each effect.
 *
 * SVC_SCALE=1 makes it 1,000, SVC_CUTS sets the number, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { RpcClient } from "../../src/client/rpc.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { decodeRecord } from "../../src/session/record.ts";
import {
  CutModel,
  isUnknown,
  LAST_LINE,
  LOG,
  NOTED,
  OUT,
  READ,
  READ_LINE,
  words,
} from "../support/cut_model.ts";
import { leftProcesses } from "../support/left_processes.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, gone, Place, TestClient, tests_binary } from "../support/svc.ts";

const asked_for = granted("env") && Deno.env.get("SVC_CUTS");
const large = granted("env") && Deno.env.get("SVC_SCALE") === "1";
// Of the binary, unless it is asked for: a start from source takes longer than what is looked at.
const ignore = !can_run_svc || Deno.build.os !== "linux" || !(tests_binary || asked_for);
const CUTS = Number(asked_for || (large ? 1_000 : 100));
/** About the length of a turn; the cuts are spread over it. */
const A_TURN_MS = 500;

const STOPS = ["SIGTERM", "serve restart"] as const;
type Kind = "SIGKILL" | typeof STOPS[number];

Deno.test({
  name: `${CUTS} kills, stops and restarts: turns end as they would have, each effect comes once`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    await using place = new Place();
    const models = { auto: new CutModel(), ask: new CutModel() };
    const server = startOpenAiServer((request) => {
      return models[request.model as keyof typeof models].answer(request);
    }, { open: true, capture: false });
    place.useLocalModel(server.url, `[agent]\ncontinue = "always"\n`);
    const run = new Life(place);
    await run.start();
    const talks: Talk[] = [];
    for (const approval of ["auto", "ask"] as const) {
      const workdir = place.mkdir(approval);
      Deno.writeTextFileSync(join(workdir, READ), `${READ_LINE}\n`.repeat(60));
      Deno.writeTextFileSync(join(workdir, LOG), `${LAST_LINE}\n`);
      await using client = await run.client();
      const params = { workdir, model: `local/${approval}`, approval };
      const { session_id } = await client.rpc.call("session.start", params);
      talks.push(new Talk(session_id, workdir, random));
    }
    const counts: Record<string, number> = {};
    for (let cut = 1, kills = 0; cut <= CUTS; cut++) {
      // Three crashes in a row end a turn.
      const kind: Kind = kills < 2 && random.chance(0.7) ? "SIGKILL" : random.pick(STOPS);
      kills = kind === "SIGKILL" ? kills + 1 : 0;
      counts[kind] = (counts[kind] ?? 0) + 1;
      {
        await using client = await run.client();
        const over = new AbortController();
        const rounds = talks.map((it) => it.round(client, cut % 5 === 0, over.signal));
        await Promise.all(rounds.map((it) => it.ready));
        await delay(random.next() * A_TURN_MS);
        over.abort();
        await run.end(kind);
        await Promise.all(rounds.map((it) => it.done));
      }
      await run.startIfNone();
    }
    const end = await run.client();
    for (const talk of talks) await talk.rest(end);
    for (const talk of talks) await checkAtRest(end, talk.session_id);
    await end[Symbol.asyncDispose]();
    await run.end("SIGTERM");
    await server.close();
    assertEquals(await leftProcesses(place.dir), []);
    assertEquals(leftFiles(place), []);

    const sum: Record<string, number> = {};
    for (const talk of talks) {
      for (const [name, n] of Object.entries(talk.check())) sum[name] = (sum[name] ?? 0) + n;
    }
    for (const model of Object.values(models)) {
      assertEquals(model.problems, []);
      for (const name of ["requests", "summaries"] as const) {
        sum[name] = (sum[name] ?? 0) + model[name];
      }
    }
    // Only what was made shorter is not the request before with something added.
    const shortened = models.auto.shortened + models.ask.shortened;
    assert(shortened <= sum.compactions, `${shortened} > ${sum.compactions}`);
    console.log(JSON.stringify({ ...counts, ...sum }));
    assertGreater(sum.went_on, CUTS / 4);
  },
});

/** The daemons of a place, one after the other. */
class Life {
  readonly #place: Place;
  #daemon: Daemon | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  async start(): Promise<void> {
    this.#daemon = await this.#place.serve();
  }

  async startIfNone(): Promise<void> {
    if (this.#daemon === undefined && !this.#detached) await this.start();
  }

  #detached = false;

  async client(): Promise<TestClient> {
    const { sock } = this.#place.discovery();
    return new TestClient(new RpcClient(await Deno.connect({ transport: "unix", path: sock })));
  }

  async end(kind: Kind): Promise<void> {
    const { pid } = this.#place.discovery();
    if (kind === "serve restart") {
      // A busy machine has it say that it waits.
      const { code, stderr } = await this.#place.svc(["serve", "restart"]);
      assertEquals(code, 0, stderr);
      this.#detached = true;
    } else {
      Deno.kill(pid, kind);
      assert(await gone(pid), `${kind} ends the daemon`);
      this.#detached = false;
    }
    await this.#daemon?.ended();
    this.#daemon = undefined;
  }
}

/** A conversation: what is sent to it and answered, and what its journal must then have. */
class Talk {
  readonly session_id: string;
  readonly #workdir: string;
  readonly #random: Random;
  /** What was sent, in order. */
  readonly #sent: string[] = [];
  #tasks = 0;
  #steers = 0;

  constructor(session_id: string, workdir: string, random: Random) {
    this.session_id = session_id;
    this.#workdir = workdir;
    this.#random = random;
  }

  /** One round: begins a turn unless one goes on, and acts on it until it is over. */
  round(client: TestClient, rests: boolean, over: AbortSignal) {
    const ready = (async () => {
      if (await this.#goesOn(client)) {
        if (rests) await this.rest(client);
      } else {
        await this.#send(client, `task ${++this.#tasks}`);
      }
    })();
    const answers = this.#random.chance(0.75);
    const steers = this.#random.chance(0.3);
    const compacts = this.#random.chance(0.2);
    const at_ms = this.#random.below(A_TURN_MS / 2);
    // A cut takes the connection from under them.
    const acting = async () => {
      await ready;
      await delay(at_ms);
      if (!over.aborted && steers) await this.#steer(client);
      if (!over.aborted && compacts) {
        await client.rpc.call("session.compact", { session_id: this.session_id });
      }
    };
    const answering = async () => {
      await ready;
      while (answers && !over.aborted) {
        await this.#answer(client);
        await delay(15);
      }
    };
    const done = Promise.allSettled([acting(), answering()]);
    return { ready, done };
  }

  async #send(client: TestClient, text: string): Promise<void> {
    const { session_id } = this;
    this.#sent.push(text);
    await client.rpc.call("session.send", { session_id, text, client_message_id: text });
  }

  async #steer(client: TestClient): Promise<void> {
    const text = `also ${this.#tasks}.${++this.#steers}`;
    await this.#send(client, text);
  }

  /** Reports whether a turn runs or goes on. */
  async #goesOn({ rpc }: TestClient): Promise<boolean> {
    const { session_id } = this;
    // What a cut took from under its sender is sent again, with the same id.
    for (const text of this.#sent.slice(-3)) {
      await rpc.call("session.send", { session_id, text, client_message_id: text });
    }
    return (await rpc.call("session.get", { session_id })).activity !== "idle";
  }

  async #answer({ rpc }: TestClient): Promise<void> {
    const { session_id } = this;
    const { pending_approvals } = await rpc.call("session.get", { session_id });
    for (const { approval_id, kind } of pending_approvals) {
      const answer = { session_id, approval_id };
      await (kind === "question"
        ? rpc.call("session.answer", { ...answer, chosen: [this.#random.pick(["A", "B"])] })
        : rpc.call("session.approve", { ...answer, decision: "allow" }));
    }
  }

  /** Waits until no turn runs and none was cut off. */
  async rest(client: TestClient): Promise<void> {
    await until(
      async () => {
        await this.#answer(client);
        return !(await this.#goesOn(client));
      },
      "the session is idle",
      60_000,
    );
  }

  /** Holds the journal against what was sent and done. @returns what there was. */
  check(): Record<string, number> {
    const path = join(this.#workdir, ".svc", "sessions", this.session_id, "journal.ndjson");
    const events = Deno.readTextFileSync(path).trimEnd().split("\n").map(decodeRecord);
    const of = (type: string) => events.filter((it) => it.type === type);
    const said = events.flatMap((it) => it.type === "user.message" ? [it.data.text] : []);
    assertEquals(said.toSorted(), this.#sent.toSorted(), "each message is there once");
    checkEnds(events);
    const compactions = of("session.compacted").length;
    return {
      turns: of("turn.started").length,
      went_on: of("turn.continued").length,
      steered: said.filter((text) => text.startsWith("also")).length,
      asked: checkQuestions(events),
      compactions,
      ...checkEffects(events, this.#workdir),
    };
  }
}

/** Each turn ends well, and says each step once. */
function checkEnds(events: readonly SessionEvent[]): void {
  const open = new Set<string>();
  for (const { type, data } of events) {
    if (type === "turn.started") open.add(data.turn_id);
    if (type !== "turn.completed") continue;
    open.delete(data.turn_id);
    assertEquals(data.stop_reason, "ok", data.error);
    const parts = data.message.split("\n\n").map((it) => it.trim()).filter((it) => it !== NOTED);
    assertEquals(parts.length, new Set(parts).size, `said twice: ${data.message}`);
    for (const part of parts) {
      const [, mark = ""] = /^words of (\S+) /.exec(part) ?? [];
      assertEquals(part, words(mark).trim());
    }
  }
  assertEquals([...open], [], "no turn is left open");
}

/** A call is asked about once, and each question is decided once. @returns how many there are. */
function checkQuestions(events: readonly SessionEvent[]): number {
  const decided = new Map<string, number>();
  const asked = new Set<string>();
  for (const { type, data } of events) {
    if (type === "approval.requested") {
      assert(!asked.has(data.call_id), `${data.call_id} was asked about again`);
      asked.add(data.call_id);
      decided.set(data.approval_id, 0);
    } else if (type === "approval.resolved") {
      decided.set(data.approval_id, decided.get(data.approval_id)! + 1);
    }
  }
  assertEquals([...decided.values()].filter((it) => it !== 1), [], "each is decided once");
  return asked.size;
}

/** Holds what the calls have done against their results. */
function checkEffects(events: readonly SessionEvent[], workdir: string) {
  const lines = [OUT, LOG].flatMap((name) => {
    return Deno.readTextFileSync(join(workdir, name)).trimEnd().split("\n");
  });
  const counts = { effects: 0, unknown: 0, done_twice: 0, lost: 0 };
  const results = new Set<string>();
  for (const { type, data } of events) {
    if (type !== "session.tool_completed") continue;
    assert(!results.has(data.call_id), `${data.call_id} has one result`);
    results.add(data.call_id);
    const [, kind, mark] = /^call_(run|edit)_(.+)$/.exec(data.call_id) ?? [];
    if (mark === undefined) continue;
    const line = kind === "edit" ? mark.replace(/\.1$/, "") : mark;
    const times = lines.filter((it) => it === line).length;
    counts.effects++;
    if (times > 1) counts.done_twice++;
    if (isUnknown(data.output)) counts.unknown++;
    else if (times === 0) counts.lost++;
  }
  assertEquals([counts.done_twice, counts.lost], [0, 0], JSON.stringify(counts));
  return counts;
}

/** Nothing is left that looks as if it ran. */
async function checkAtRest({ rpc }: TestClient, session_id: string): Promise<void> {
  const { activity, pending_approvals, lanes } = await rpc.call("session.get", { session_id });
  assertEquals([activity, pending_approvals], ["idle", []]);
  const open = (lanes as { lane_id: string; status: string }[] ?? [])
    .filter((it) => it.lane_id !== "main" && ["running", "blocked", "created"].includes(it.status));
  assertEquals(open, []);
  assertEquals((await rpc.call("approvals.list")).approvals, []);
}

/** Files that a daemon at rest has no use for. */
function leftFiles({ dir }: Place): string[] {
  const found: string[] = [];
  const walk = (path: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      const each = join(path, name);
      if (isDirectory) walk(each);
      else found.push(each.slice(dir.length + 1));
    }
  };
  walk(dir);
  return found.filter((it) => /\.(tmp|new|part|lock~|sock)$|~$|\.tmp[.-]/.test(it));
}
