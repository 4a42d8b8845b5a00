/**
 * A daemon that is killed again and again while it works. After each kill nothing is left behind: no
 * process, no temporary file, no descriptor. At the end nothing is lost: each message that was
 * accepted during a turn has a turn of its own, and the bus has each event of the journals once.
 *
 * SVC_KILLS sets the number of kills.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { decodeRecord } from "../../src/session/record.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { range } from "../support/sessions.ts";
import {
  can_run_svc,
  type Daemon,
  gone,
  Place,
  type TestClient,
  tests_binary,
} from "../support/svc.ts";

const asked_for = granted("env") && Deno.env.get("SVC_KILLS");
// Of the binary, unless it is asked for: a start from source takes longer than what is looked at.
const ignore = !can_run_svc || Deno.build.os !== "linux" || !(tests_binary || asked_for);
const KILLS = Number(asked_for || 8);
const TALKING = 6;
const COMMANDS = 3;
const REST_MS = 60_000;
const DELTAS = ["session.delta", "lane.delta"];

interface Working {
  session_id: string;
  path: string;
  /** Is sent as a message; a marked command shows in the process list. */
  text: () => string;
}

Deno.test({
  name:
    `${KILLS} kills: no message, process, temporary file, descriptor or bus record is left or lost`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    const server = startOpenAiServer(() => ({ instant: 150, pace_ms: 2 }), {
      open: true,
      capture: false,
    });
    await using place = new Place();
    const temporary = place.mkdir("tmp");
    place.env.TMPDIR = temporary;
    place.useLocalModel(server.url, `[agent]\napproval = "auto"\n`);
    // A name that only the commands of this test have.
    const marker = `crash-loop-${crypto.randomUUID()}`;
    let sent = 0;
    const accepted = new Map<string, Set<string>>();

    let daemon = await place.serve();
    const working: Working[] = [];
    {
      await using client = await daemon.rpc();
      for (const n of range(0, TALKING + COMMANDS - 1)) {
        const workdir = place.mkdir(`project-${n}`);
        const talks = n < TALKING;
        const model = talks ? "local/m" : "builtin/toolbelt";
        const { session_id } = await client.rpc.call("session.start", { workdir, model });
        const path = join(workdir, ".svc", "sessions", session_id, "journal.ndjson");
        const command = `run : ${marker}; while sleep 0.05; do date >> changed.txt; done`;
        working.push({ session_id, path, text: () => talks ? `message ${++sent}` : command });
        accepted.set(session_id, new Set());
      }
    }
    for (const _ of range(1, KILLS)) {
      await using client = await daemon.rpc();
      const sending = working.flatMap(({ session_id, text }) => {
        const send = async () => {
          const params = { session_id, text: text() };
          const { message_id } = await client.rpc.call("session.send", params);
          accepted.get(session_id)!.add(message_id);
        };
        // The second and third come during the turn of the first.
        const times = [0, random.below(120), random.below(250)];
        // Those that the kill cuts off were not accepted.
        return times.map((at_ms) => delay(at_ms).then(send).catch(() => {}));
      });
      await delay(random.below(400));
      await daemon.kill();
      await Promise.all(sending);
      for (const pid of await marked(marker)) {
        assert(await gone(pid, 5_000), `process ${pid} outlives the daemon by 5 s`);
      }

      daemon = await place.serve();
      await using next = await daemon.rpc();
      for (const { session_id } of working.slice(TALKING)) {
        await next.rpc.call("session.cancel", { session_id }).catch(() => {});
      }
      await rest(next, working.slice(TALKING));
    }

    await using client = await daemon.rpc();
    await rest(client, working);
    for (const { session_id, path } of working) {
      const events = readJournal(path);
      assertEquals(events.map(({ seq }) => seq), range(1, events.length));
      const ids = events.filter((it) => it.type === "user.message")
        .map(({ data }) => data.message_id);
      assertEquals(ids.length, new Set(ids).size, "no message is recorded twice");
      for (const id of accepted.get(session_id)!) assert(ids.includes(id), `${id} was accepted`);
      assertEquals(unanswered(events), [], `${path}: messages during a turn that nobody answers`);
      const journaled = events.filter(({ type }) => !DELTAS.includes(type)).map(({ seq }) => seq);
      assertEquals(await busSeqs(client, session_id, journaled.at(-1)!), journaled);
    }
    // A connection to a model is kept for a while; there is no other end any more.
    await server.close();
    // A new daemon with the same sessions, for comparison.
    const after = await openDescriptors(daemon);
    await daemon.stop();
    daemon = await place.serve();
    const fresh = await openDescriptors(daemon);
    assert(
      after.length <= fresh.length + 10,
      `${after.length} descriptors at rest, ${fresh.length} in a fresh daemon: ${after.join(" ")}`,
    );
    await daemon.stop();
    assertEquals(await marked(marker), []);
    assertEquals(temporaries(place.home), []);
    assertEquals([...Deno.readDirSync(temporary)].map(({ name }) => name), []);
    console.log(`${sent} messages, ${KILLS} kills`);
  },
});

/** Waits until no turn runs; commands that loop are cancelled as their turns come up. */
async function rest(client: TestClient, working: readonly Working[]) {
  const until = Date.now() + REST_MS;
  for (const { session_id } of working) {
    for (;;) {
      const { activity, model } = await client.rpc.call("session.get", { session_id });
      if (activity === "idle") break;
      assert(Date.now() < until, `${session_id} is still ${activity}`);
      if (model === "builtin/toolbelt") {
        await client.rpc.call("session.cancel", { session_id });
      }
      await delay(20);
    }
  }
}

/** Messages that came during a turn which was cut off, and no turn began after them. */
function unanswered(events: readonly SessionEvent[]): string[] {
  const waiting = new Set<string>();
  let during = false;
  for (const { type, data } of events) {
    if (type === "user.message" && during) waiting.add(data.message_id);
    if (type === "turn.started") {
      during = true;
      waiting.clear();
    } else if (type === "turn.completed") {
      during = false;
      if (data.stop_reason === "ok") waiting.clear();
    }
  }
  return [...waiting];
}

function readJournal(path: string): SessionEvent[] {
  const text = Deno.readTextFileSync(path);
  assert(text.endsWith("\n"), "the last line is whole");
  return text.trimEnd().split("\n").map(decodeRecord);
}

/** The processes whose command line has the marker. */
async function marked(marker: string): Promise<number[]> {
  const { stdout } = await new Deno.Command("pgrep", { args: ["-f", marker] }).output();
  return new TextDecoder().decode(stdout).trim().split("\n").filter(Boolean).map(Number);
}

/** What a daemon has open when its sessions rest: their journals are closed then. */
async function openDescriptors({ pid }: Daemon): Promise<string[]> {
  const until = Date.now() + REST_MS;
  let before: string[] = [];
  for (let same = 0; same < 4;) {
    await delay(500);
    const now = descriptors(pid);
    const rests = !now.some((it) => it.endsWith("/journal.ndjson"));
    assert(rests || Date.now() < until, `journals are still open: ${now.join(" ")}`);
    same = rests && now.length === before.length ? same + 1 : 0;
    before = now;
  }
  return before;
}

function descriptors(pid: number): string[] {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].flatMap(({ name }) => {
    try {
      return [Deno.readLinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      // Closed meanwhile.
      return [];
    }
  });
}

/** The seqs of a session's events on the bus, once it has the last one. */
async function busSeqs(client: TestClient, session_id: string, last_seq: number) {
  const until = Date.now() + REST_MS;
  for (;;) {
    const seqs: number[] = [];
    for (let from_seq: number | undefined = 1; from_seq !== undefined;) {
      const params = { from_seq, to_seq: Number.MAX_SAFE_INTEGER, session_id };
      const { events, next_seq }: { events: { seq: number }[]; next_seq?: number } = await client
        .rpc.call("bus.replay", params);
      seqs.push(...events.map(({ seq }) => seq));
      from_seq = next_seq;
    }
    if (seqs.includes(last_seq) || Date.now() > until) return seqs;
    await delay(100);
  }
}

function temporaries(dir: string): string[] {
  return [...Deno.readDirSync(dir)].flatMap(({ name, isDirectory }) =>
    isDirectory ? temporaries(join(dir, name)) : name.endsWith(".tmp") ? [join(dir, name)] : []
  );
}
