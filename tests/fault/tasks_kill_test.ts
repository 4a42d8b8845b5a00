/**
 * A daemon that is killed, or told to stop, again and again while queued code tasks work, half of
 * them in a directory, half in a clone. Each task ends as it would have, in its first session, with
 * its criterion met; each command has had its effect once; nothing is left over.
 *
 * SVC_TASK_KILLS sets the number of kills, SVC_TEST_SEED repeats a run.
 */
import { assert, assertEquals, assertGreater, assertThrows } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { UNKNOWN_OUTCOME } from "../../src/agent/calls.ts";
import type { TaskLogEntry, TaskRecord } from "../../src/features/tasks/task.ts";
import type { Message } from "../../src/models/model.ts";
import { isUnknown } from "../support/cut_model.ts";
import { leftProcesses } from "../support/left_processes.ts";
import { type Answer, type Scripted, startOpenAiServer } from "../support/model_servers.ts";
import { granted } from "../support/permissions.ts";
import { Random } from "../support/random.ts";
import { gitInstalled, Repository } from "../support/repository.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place, tests_binary } from "../support/svc.ts";

const asked_for = granted("env") && Deno.env.get("SVC_TASK_KILLS");
// Of the binary, unless it is asked for: a start from source takes longer than what is looked at.
const ignore = !can_run_svc || Deno.build.os !== "linux" || !gitInstalled() ||
  !(tests_binary || asked_for);
const KILLS = Number(asked_for || 10);
/** So many tasks that each is cut off several times. */
const TASKS = Math.max(2, Math.ceil(KILLS / 6));
/** A kill comes within this after the daemon is ready: a task takes a few times as long. */
const SOON_MS = 700;
const USAGE = { input: 100, output: 10 };

/** The commands of a task, by turn and step. */
const STEPS = [["", "sleep 0.05; "], ["", ""]];

/** Where a conversation is: which task, which turn of it, which step. */
function placeIn(messages: readonly Message[]) {
  const prompts = messages.flatMap((it, at) => it.role === "user" ? [{ ...it, at }] : []);
  const [, task] = JSON.stringify(prompts[0]).match(/this is task (\d+)/)!;
  const since = messages.slice(prompts.at(-1)!.at);
  return {
    task: Number(task),
    turn: prompts.length - 1,
    step: since.filter(({ role }) => role === "assistant").length,
  };
}

/** What the model was told: the first prompts of each task, and the results of its commands. */
class Told {
  readonly prompts = new Map<number, Set<string>>();
  readonly results = new Map<string, Set<string>>();
  /** The calls that only make the result again. */
  readonly again = new Map<number, Set<string>>();

  note(messages: readonly Message[]): void {
    const { task } = placeIn(messages);
    const prompt = JSON.stringify(messages.find(({ role }) => role === "user"));
    add(this.prompts, task, prompt);
    for (const it of messages) {
      if (it.role !== "tool") continue;
      for (const result of it.results) {
        if (result.call_id.startsWith("again_")) add(this.again, task, result.call_id);
        else add(this.results, result.call_id.replace("call_", ""), JSON.stringify(result));
      }
    }
  }

  /** Whether the model was told that nobody knows the outcome. */
  isUnknown(mark: string): boolean {
    return [...this.results.get(mark) ?? []].some((it) => it.includes(UNKNOWN_OUTCOME));
  }
}

function add<K>(to: Map<K, Set<string>>, key: K, value: string): void {
  to.set(key, (to.get(key) ?? new Set()).add(value));
}

/** Holds what was done against what the model was told. @returns the number of unknown results */
function checkEffects(told: Told, marks: readonly string[]): number {
  let unknown = 0;
  for (const [mark, results] of told.results) {
    assertEquals(results.size, 1, `the call ${mark} has one result`);
    const times = marks.filter((it) => it === mark).length;
    if (told.isUnknown(mark)) {
      unknown++;
      assert(times <= 1, `${mark} was done ${times} times`);
    } else assertEquals(times, 1, `${mark} was done ${times} times`);
  }
  assertEquals(marks.filter((mark) => !told.results.has(mark)), [], "done, and nobody was told");
  return unknown;
}

function script(witness: string, told: Told): Scripted {
  return ({ messages }): Answer => {
    told.note(messages);
    const { task, turn, step } = placeIn(messages);
    const text = Array(6).fill(`words of ${task}.${turn}.${step} `);
    const rest = { text, pace_ms: 5, usage: USAGE };
    const pause = STEPS[turn]?.[step];
    const last = messages.at(-1);
    if (turn === 1 && step >= 2 && last?.role === "tool" && isUnknown(last.results[0].output)) {
      // Whether the result is good is not known, and it can be made again.
      const args = { command: "echo good > result.txt" };
      return { ...rest, calls: [{ id: `again_${task}.${step}`, name: "run_command", args }] };
    }
    if (pause === undefined) return rest;
    const mark = `${task}.${turn}.${step}`;
    // The criterion is met by the last command of the second turn, a repair.
    const good = turn === 1 && step === 1 ? "; echo good > result.txt" : "";
    const command = `${pause}echo ${mark} >> ${witness}${good}; ${pause}echo done`;
    const call = { id: `call_${mark}`, name: "run_command", args: { command } };
    return { ...rest, calls: [call] };
  };
}

/** Ends a daemon. @returns how. */
async function end(daemon: Daemon, random: Random): Promise<"killed" | "stopped"> {
  if (random.chance(0.7)) {
    await daemon.kill();
    return "killed";
  }
  const grace_s = random.pick([0, 0, 1]);
  await using client = await daemon.rpc();
  await client.rpc.call("daemon.shutdown", { grace_s });
  assertEquals((await daemon.ended()).code, 0);
  return "stopped";
}

Deno.test({
  name: `${KILLS} kills and stops over ${TASKS} queued tasks: each ends as it would have, once`,
  ignore,
  async fn() {
    const random = new Random(
      Number(Deno.env.get("SVC_TEST_SEED") ?? Math.floor(Math.random() * 1e9)),
    );
    console.log(`SVC_TEST_SEED=${random.seed}`);
    const temporary = Deno.makeTempDirSync({ prefix: "svc-test-" });
    await using place = new Place({ TMPDIR: temporary });
    // Outside of the directory: that of a clone is removed.
    const witness = join(place.mkdir("witness"), "effects");
    Deno.writeTextFileSync(witness, "");
    const told = new Told();
    const server = startOpenAiServer(script(witness, told), { open: true, capture: false });
    place.useLocalModel(server.url, `[tasks]\nworkers = 2\n[sandbox]\nshell = "none"\n`);
    using repo = new Repository({ "a.txt": "one\n" });
    const criterion = (n: number) => ({
      id: "c",
      description: `the result of this is task ${n} is good`,
      command: "grep good result.txt",
    });
    const ids: string[] = [];
    const tally = { killed: 0, stopped: 0 };
    let daemon = await place.serve();
    try {
      const enqueue = async () => {
        const n = ids.length;
        await using client = await daemon.rpc();
        const where = n % 2 === 0
          ? { repo: repo.root }
          : { workdir: place.mkdir(`directory/${n}`) };
        const { id } = await client.rpc.call("queue.enqueue", {
          task_type: "code",
          description: `this is task ${n}`,
          max_attempts: 100,
          effort: "standard",
          extra: { ...where, model: "local/m", acceptance_criteria: [criterion(n)] },
        });
        ids.push(id);
      };
      for (let kill = 1; kill <= KILLS; kill++) {
        if (ids.length * KILLS < kill * TASKS) await enqueue();
        // Often at once, while the daemon takes up what the one before left.
        await delay(random.next() ** 2 * SOON_MS);
        tally[await end(daemon, random)]++;
        daemon = await place.serve();
      }
      await using client = await daemon.rpc();
      const tasks = new Map<string, TaskRecord>();
      await until(
        async () => {
          for (const task_id of ids) {
            tasks.set(task_id, await client.rpc.call("task.get", { task_id }));
          }
          return [...tasks.values()].every(({ status }) => /completed|failed/.test(status));
        },
        "the end of all tasks",
        120_000,
      );

      const { entries } = await client.rpc.call("queue.wal", { n: 10_000 });
      let went_on = 0;
      ids.forEach((id, n) => {
        const { status, error, usage, verification } = tasks.get(id)!;
        const notes = (entries as TaskLogEntry[]).filter((it) =>
          it.task_id === id && it.event === "note"
        )
          .map(({ detail = "" }) => detail);
        assertEquals([status, error], ["completed", undefined], `task ${n}\n${notes.join("\n")}`);
        assert(verification?.every(({ passed }) => passed), `task ${n}`);
        assertEquals(told.prompts.get(n)?.size, 1, `task ${n} has begun once\n${notes.join("\n")}`);
        went_on += notes.filter((it) => it.endsWith(" goes on")).length;
        assertEquals(usage?.turns, 2, `task ${n}`);
        // An answer that was cut off before its end has no usage.
        const answers = 6 + (told.again.get(n)?.size ?? 0);
        assertEquals(usage?.tokens_out, answers * USAGE.output, `task ${n}: usage`);
      });
      await until(async () => {
        const { sessions } = await client.rpc.call("session.list", {});
        return sessions.every(({ title }: { title: string }) => !title.startsWith("task "));
      }, "no session of a task is left");
      await daemon.stop();

      const marks = Deno.readTextFileSync(witness).trim().split("\n");
      const unknown = checkEffects(told, marks);
      assertEquals(told.results.size, 4 * ids.length);
      const left = [...Deno.readDirSync(temporary)]
        .filter(({ name }) => name.startsWith("svc-tasks-"))
        .flatMap(({ name }) => [...Deno.readDirSync(join(temporary, name))]);
      assertEquals(left, [], "no directory of a task is left");
      assertEquals(await leftProcesses(place.dir), []);
      console.log(
        `${tally.killed} kills, ${tally.stopped} stops, ${ids.length} tasks, ${went_on} went on, ` +
          `${unknown} unknown results`,
      );
      assertGreater(went_on, KILLS / 4);
    } finally {
      await daemon.kill();
      await server.close();
      Deno.removeSync(temporary, { recursive: true });
    }
  },
});

Deno.test("the witness sees what is done twice, not at all, or without a word to the model", () => {
  const told = (text: string) => {
    const it = new Told();
    const prompt = { role: "user" as const, text: "this is task 1" };
    const results = [{ call_id: "call_1.0.0", tool: "run_command", output: text, ok: true }];
    it.note([prompt, { role: "tool", results }]);
    return it;
  };
  assertEquals(checkEffects(told("done"), ["1.0.0"]), 0);
  assertEquals(checkEffects(told(UNKNOWN_OUTCOME), ["1.0.0"]), 1);
  assertEquals(checkEffects(told(UNKNOWN_OUTCOME), []), 1);
  for (const marks of [[], ["1.0.0", "1.0.0"], ["1.0.0", "1.0.1"]]) {
    assertThrows(() => checkEffects(told("done"), marks));
  }
  assertThrows(() => checkEffects(told(UNKNOWN_OUTCOME), ["1.0.0", "1.0.0"]));
  const twice = told("done");
  twice.note([{ role: "user", text: "this is task 1" }, {
    role: "tool",
    results: [{ call_id: "call_1.0.0", tool: "run_command", output: "again", ok: true }],
  }]);
  assertThrows(() => checkEffects(twice, ["1.0.0"]));
});
