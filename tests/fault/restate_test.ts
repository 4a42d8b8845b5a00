/**
 * Tasks on Restate while servers, workers, front doors and the ways between them fail. SVC_SCALE=1
 * takes 2,000 tasks and every line of the table; without it about 60 tasks and the quick ones.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { has_balancer } from "../support/balancer.ts";
import { type Asked, Bench, type Found } from "../support/restate_bench.ts";
import { has_restate } from "../support/restate.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !has_restate || !has_balancer || Deno.build.os !== "linux";
const FULL = !ignore && Deno.env.get("SVC_SCALE") === "1";
const ONLY = ignore ? undefined : Deno.env.get("SVC_LINE");
/** Of so many tasks one is waited for by its client. */
const WAITED_FOR = 10;
const PATIENCE_MS = 180_000;
const SMALL_TASKS = 12;
const FULL_TASKS = 100;
const HELD = 12;

interface Line {
  name: string;
  /** Whether it is also in the small form. */
  quick?: true;
  /** Whether tasks may be begun again. */
  reruns?: true;
  /** What happens once tasks run. @returns tasks that it asked for */
  fault(bench: Bench): Promise<void | Asked[]>;
}

/** How long something fails. It is the fault itself, not a wait for something. */
const lasting = delay;

async function outage(bench: Bench, ms: number): Promise<void> {
  await bench.server.kill();
  await lasting(ms);
  await bench.server.start();
}

async function frozen(part: { freeze(): void; thaw(): void }, ms: number): Promise<void> {
  part.freeze();
  await lasting(ms);
  part.thaw();
}

async function cutOff({ machines: [machine] }: Bench, way: "to" | "from" | "both", ms: number) {
  machine.cut(way);
  await lasting(ms);
  machine.mend();
}

const LINES: Line[] = [
  { name: "nothing fails", fault: async () => {} },
  {
    name: "the server is killed and starts again",
    quick: true,
    fault: (bench) => outage(bench, 0),
  },
  { name: "the server is away for 1 s", fault: (bench) => outage(bench, 1_000) },
  { name: "the server is away for 4 s", fault: (bench) => outage(bench, 4_000) },
  { name: "the server is away for 9 s", fault: (bench) => outage(bench, 9_000) },
  {
    name: "the server is frozen for 2 s",
    quick: true,
    fault: ({ server }) => frozen(server, 2_000),
  },
  { name: "the server is frozen for 30 s", fault: ({ server }) => frozen(server, 30_000) },
  {
    name: "a worker is killed, and another starts",
    quick: true,
    reruns: true,
    async fault({ machines: [machine] }) {
      await machine.kill();
      await machine.start();
    },
  },
  {
    name: "a worker is frozen for 4 s",
    fault: ({ machines: [{ worker }] }) => frozen(worker, 4_000),
  },
  {
    name: "a worker is frozen for 25 s",
    reruns: true,
    fault: ({ machines: [{ worker }] }) => frozen(worker, 25_000),
  },
  {
    name: "a worker is cut off for 4 s",
    quick: true,
    fault: (bench) => cutOff(bench, "both", 4_000),
  },
  {
    name: "a worker is cut off for 25 s",
    reruns: true,
    fault: (bench) => cutOff(bench, "both", 25_000),
  },
  {
    name: "the server cannot reach a worker for 25 s",
    fault: (bench) => cutOff(bench, "to", 25_000),
  },
  {
    name: "a worker cannot reach the server for 25 s",
    fault: (bench) => cutOff(bench, "from", 25_000),
  },
  {
    name: "a front door is killed, and starts again",
    quick: true,
    fault: (bench) => bench.restartDoor(0),
  },
  {
    name: "a worker is told to stop, and another starts",
    quick: true,
    async fault({ machines: [machine] }) {
      assertEquals(await machine.stop(), 0);
      await machine.start();
    },
  },
  {
    name: "tasks of a worker that cannot be reached are cancelled",
    quick: true,
    async fault(bench) {
      const asked = await bench.askHeld(HELD);
      const machine = bench.busiest(asked);
      machine.cut("to");
      await lasting(1_000);
      await Promise.all(asked.map(({ id }) => bench.cancel(id)));
      machine.mend();
      return asked;
    },
  },
  {
    name: "a worker is told to stop, and hands long tasks over",
    async fault(bench) {
      const asked = await bench.askHeld(HELD);
      const machine = bench.busiest(asked);
      const here = bench.begunAt(machine, asked);
      assertEquals(await machine.stop(), 0);
      const elsewhere = () => bench.begun(asked).flat().length === HELD + here;
      await until(elsewhere, "the tasks' beginning elsewhere");
      bench.letGo();
      await machine.start();
      return asked;
    },
  },
  {
    name: "a new version is registered at another address",
    async fault(bench) {
      const [old] = bench.machines;
      const machine = await bench.addMachine("new");
      await machine.start();
      await machine.register(await bench.addBalancer([machine]));
      const asked = await Promise.all(Array.from({ length: 10 }, () => bench.ask()));
      const all = () => asked.every(({ id }) => bench.reports.times.has(id));
      await until(all, "the end of tasks that the new version was given");
      await old.register(bench.balancers[0]);
      assertEquals(await machine.stop(), 0);
      return asked;
    },
  },
  {
    name: "tasks are cancelled in line and while they run",
    quick: true,
    async fault(bench) {
      const asked = await Promise.all(Array.from({ length: 40 }, () => bench.ask()));
      await Promise.all(asked.map(({ id }) => bench.cancel(id)));
      return asked;
    },
  },
  { name: "the server is away for 60 s", fault: (bench) => outage(bench, 60_000) },
];

/** Asks for tasks, and lets something fail once some of them run. */
async function runLine(bench: Bench, line: Line, count: number): Promise<Found> {
  const before = bench.witness.acts().size;
  const asking: Promise<Asked>[] = [];
  const askAll = (async () => {
    for (let n = 0; n < count; n++) {
      const task = bench.ask({ waits: n % WAITED_FOR === WAITED_FOR - 1 });
      asking.push(task);
      if (n % 10 === 9) await Promise.race([task, delay(200)]);
    }
  })();
  while (bench.witness.acts().size < before + Math.min(count / 4, 9)) await delay(20);
  const more = await line.fault(bench) ?? [];
  await askAll;
  const asked = [...await Promise.all(asking), ...more];
  await bench.ended(asked, PATIENCE_MS);
  return await bench.check(asked, line.reruns ?? false);
}

/** Runs one line and prints its row of the table. */
async function showLine(bench: Bench, line: Line): Promise<void> {
  const began = performance.now();
  const found = await bench.within(
    PATIENCE_MS * 2,
    runLine(bench, line, FULL ? FULL_TASKS : SMALL_TASKS),
  );
  const took = ((performance.now() - began) / 1000).toFixed(0);
  const { tasks, runs, attempts, ...violations } = found;
  const wrong = Object.values(violations).reduce((sum, it) => sum + it, 0);
  console.log(`| ${line.name} | ${tasks} | ${runs} | ${attempts} | ${took} s | ${wrong} |`);
  assertEquals(
    violations,
    { stuck: 0, failed: 0, ends: 0, effects: 0, reruns: 0, callbacks: 0 },
  );
}

/** Looks for calls, turns, processes and files that nobody needs any more. */
async function nothingIsLeft(bench: Bench): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while ((await bench.calls()).length > 0 && performance.now() < end) await delay(200);
  assertEquals(await bench.calls(), []);
  const { busy, counts } = await bench.queue();
  const failed = bench.cancelled.size;
  const completed = bench.asked - failed;
  const expected = { busy: 0, counts: { queued: 0, running: 0, completed, failed } };
  assertEquals({ busy, counts }, expected);
  assertEquals(bench.reports.unsigned, 0);
  // A worker that was given up elsewhere frees the target once it has stopped the command.
  while ((await bench.heldTargets()).length > 0 && performance.now() < end) await delay(200);
  assertEquals(await bench.heldTargets(), []);
  await until(() => bench.commands().length === 0, "the end of all commands");
  assertEquals(bench.files(), []);
}

Deno.test({
  name: "tasks on Restate end once, and each attempt acts once, whatever fails",
  ignore,
  async fn(t) {
    await using bench = await Bench.start(3);
    const lines = LINES.filter(({ name, quick }) => ONLY ? name.includes(ONLY) : FULL || quick);
    for (const line of lines) await t.step(line.name, () => showLine(bench, line));
    await t.step("nothing is left over", () => nothingIsLeft(bench));
  },
});

Deno.test({
  name: "a cluster of three servers goes on while one of them is away",
  ignore: !FULL,
  async fn(t) {
    await using bench = await Bench.start(3, 3);
    for (const [n, server] of bench.servers.entries()) {
      const line = {
        name: `server ${n + 1} of 3 is away`,
        async fault() {
          await server.kill();
          const asked = await Promise.all(Array.from({ length: 30 }, () => bench.ask()));
          assert(await bench.ended(asked, PATIENCE_MS), "tasks wait for the server");
          await server.start();
          return asked;
        },
      };
      await t.step(line.name, () => showLine(bench, line));
    }
    await t.step("nothing is left over", () => nothingIsLeft(bench));
  },
});
