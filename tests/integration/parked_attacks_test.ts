/** Parked turns under attack: moved directories, hostile providers, copies, stops at the wrong time. */
import { delay } from "@std/async";
import { assert, assertEquals, assertMatch, assertNotMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { SvcError } from "../../src/protocol/errors.ts";
import { MissionModel, RESULT, SPEC } from "../support/missions.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { gitInstalled, Repository } from "../support/repository.ts";
import { Scenario, type ScenarioOptions, until } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const SOON = '[agent]\npark_after = "1s"\n';

const limited = (seconds: number, message = "quota used up"): Answer => ({
  status: { code: 429, message, headers: { "retry-after": `${seconds}` } },
});
const LONG = limited(7_200);
const DONE: Answer = { text: "Done." };
const run = (command: string) => ({ name: "run_command", args: { command } });

function test(
  name: string,
  steps: readonly (Answer | Scripted)[] | Scripted,
  body: (it: Scenario) => Promise<void>,
  options: ScenarioOptions = {},
): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      await using it = await Scenario.begin(steps, { toml: SOON, ...options });
      await body(it);
    },
  });
}

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const ends = (it: Scenario) =>
  it.client.of("turn.completed").map(({ data }) => [data.stop_reason, data.message]);

const parks = (it: Scenario) => it.client.of("turn.parked").length;

test("text and a finished command before a limit are kept, and done once, over two stops", [
  { text: "First.", calls: [run("echo once >>count.txt")] },
  {
    text: ["Half ", "a text"],
    fail: { after: 1, type: "rate_limit_error", message: "Please try again in 4 seconds." },
  },
  { text: ["Sec", "ond."], hang_after: 1 },
  { text: "Second." },
], async (it) => {
  await it.send("go");
  await it.event("turn.parked");
  await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
  await it.daemon.ended();
  await it.restart();
  // It wakes, and the daemon stops in the middle of the answer.
  await until(() => it.server.requests.length === 3, "it wakes");
  await it.client.rpc.call("daemon.shutdown", { grace_s: 0 });
  await it.daemon.ended();
  await it.restart();
  await it.event("turn.completed");
  assertEquals(ends(it), [["ok", "First.\n\nSecond."]]);
  assertEquals(Deno.readTextFileSync(join(it.workdir, "count.txt")), "once\n");
  assertEquals(it.client.of("turn.continued").map(({ data }) => data.after), ["limit", "stop"]);
});

test("an image that is sent to a parked session is answered with it", [LONG, DONE], async (it) => {
  await it.send("go");
  await it.event("turn.parked");
  await it.call("session.send", {
    text: "look",
    attachments: [{ name: "a.png", media_type: "image/png", data: PNG }],
  });
  await it.restart();
  assertEquals(it.server.requests.length, 1);
  await it.call("session.continue");
  await it.event("turn.completed");
  assertEquals(ends(it), [["ok", "Done."]]);
  assertMatch(JSON.stringify(it.server.requests.at(-1)!.body), /iVBORw0KGgo/);
}, { toml: `images = true\n${SOON}` });

const moving = (
  leave: (it: Scenario) => Promise<void>,
): [Answer[], (it: Scenario) => Promise<void>] => [
  [limited(8), { calls: [run("pwd >here.txt")] }, DONE],
  async (it) => {
    await it.send("go");
    const { data } = await it.event("turn.parked");
    // The session comes to rest and lets go of its journal.
    await delay(6_500);
    assert(Date.now() < Date.parse(data.until), "still parked");
    await leave(it);
    await it.event("turn.completed");
    assertEquals(ends(it), [["ok", "Done."]]);
    const here = (await it.call("session.get")).workdir;
    assertEquals(Deno.readTextFileSync(join(here, "here.txt")), `${here}\n`);
  },
];

test(
  "a directory that is renamed while its turn is parked: the turn goes on in it",
  ...moving(async (it) => {
    Deno.renameSync(it.workdir, `${it.workdir}-renamed`);
    await until(() => it.client.of("session.moved").length === 1, "it is found");
  }),
);

test(
  "a directory that is away when the limit ends: its turn waits until it is back",
  ...moving(async (it) => {
    const away = it.place.mkdir("elsewhere/deep/down");
    Deno.renameSync(it.workdir, join(away, "project"));
    await delay(6_000);
    assertEquals(ends(it), []);
    const { sessions: [item] } = await it.client.rpc.call("session.list", {});
    assertEquals(item.activity, "working");
    Deno.renameSync(join(away, "project"), it.workdir);
    await it.call("session.continue");
  }),
);

test("what would change a parked session's past is refused; settings and a pause are not", [
  { text: "One." },
  LONG,
  DONE,
], async (it) => {
  await it.turn("first");
  await it.send("go");
  await it.event("turn.parked");
  for (
    const [verb, params] of [
      ["session.rewind", { what: "conversation" }],
      ["session.move", { workdir: it.place.mkdir("other") }],
      ["session.fork", {}],
      ["session.compact", {}],
    ] as const
  ) {
    const { code } = await assertRejects(() => it.call(verb, params), SvcError);
    assertEquals(code, "conflict", verb);
  }
  assertMatch((await it.call("session.export")).content, /One\./);
  await it.call("session.configure", { archived: true, budget_usd: 5 });
  const { activity, archived, parked_until } = await it.call("session.get");
  assertEquals([activity, archived, parked_until !== undefined], ["working", true, true]);
  await it.call("session.pause");
  assertEquals(ends(it).at(-1), ["interrupted", ""]);
  await it.call("session.resume");
  await it.call("session.continue");
  await until(() => ends(it).length === 3, "the end");
  assertEquals(ends(it).at(-1), ["ok", "Done."]);
});

test("session.delete removes a parked session", [LONG], async (it) => {
  await it.send("go");
  await it.event("turn.parked");
  await it.call("session.delete");
  assertEquals((await it.client.rpc.call("session.list", { include_ended: true })).sessions, []);
});

test("a turn that wakes without a network is parked again", [limited(3)], async (it) => {
  await it.send("go");
  await it.event("turn.parked");
  await it.server.close();
  await until(() => parks(it) === 2, "parked again");
  const [, { data }] = it.client.of("turn.parked");
  assertMatch(data.reason, /^cannot reach /);
  const wait_ms = Date.parse(data.until) - Date.now();
  assert(wait_ms > 4 * 60_000 && wait_ms < 6 * 60_000, data.until);
  assertEquals(ends(it), []);
});

const HOSTILE = "\x1b[2J\x1b]0;gone\x07\r\nsvc: all is well\u202e\u0000 😀".repeat(2_000);

test("a limit's text cannot do anything to a terminal", [
  limited(7_200, HOSTILE),
], async (it) => {
  await it.send("go");
  await it.event("turn.parked");
  const session = ["--session", it.session_id];
  for (
    const args of [
      ["chat", ...session, "-p", "go"],
      ["chat", ...session, "-p", "go", "--output", "json"],
      ["chat", ...session, "-p", "go", "--output", "stream-json"],
      ["ctl", "sessions", "list"],
      ["ctl", "sessions", "list", "--json"],
      ["ctl", "sessions", "get", it.session_id],
      ["ctl", "sessions", "export", it.session_id],
    ]
  ) {
    const { stdout, stderr, code } = await it.place.svc(args);
    // deno-lint-ignore no-control-regex -- that is what it is about
    assertNotMatch(stdout + stderr, /[\x00-\x08\x0b-\x1f\x7f\u202e]/, args.join(" "));
    assert([0, 75].includes(code), `${args}: ${stderr}`);
  }
});

for (const over of ["the limit", "a restart"]) {
  Deno.test({
    name: `a mission with a parked turn says so, and is carried out after ${over}`,
    ignore: ignore || !gitInstalled(),
    async fn() {
      const model = new MissionModel();
      using repo = new Repository();
      let asked = 0;
      const script: Scripted = (request) => {
        const text = JSON.stringify(request.messages);
        const refuses = text.includes("# Task base ") && ++asked === 1;
        return refuses ? limited(over === "the limit" ? 3 : 12) : model.script(request);
      };
      await using it = await Scenario.begin(script, { toml: SOON, start: { workdir: repo.root } });
      const { mission_id } = await it.call("mission.create", { spec: SPEC });
      const get = () => it.client.rpc.call("mission.get", { mission_id });
      const parked = async () => {
        const { entries } = await it.client.rpc.call("mission.logs", { mission_id, limit: 1000 });
        return entries.filter(({ event }: { event: string }) => event === "parked");
      };
      await until(async () => (await parked()).length === 1, "parked");
      const [{ detail }] = await parked();
      assertMatch(detail, /^parked until .*quota used up/);
      assertEquals((await get()).status, "running");
      if (over === "a restart") await it.restart();
      await until(async () => (await get()).status !== "running", "its end", 180_000);
      const { status, error } = await get();
      assertEquals([status, error], ["completed", undefined]);
      for (const [path, content] of Object.entries(RESULT)) {
        assertEquals(Deno.readTextFileSync(join(repo.root, path)), content, path);
      }
      for (const [id, times] of model.begun) assertEquals(times, 1, id);
      assertEquals((await parked()).length, 1);
    },
  });
}
