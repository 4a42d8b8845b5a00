/** `svc chat -p` leaves no session behind, unless asked to; what it cost still counts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { processesWith, Scenario, until } from "../support/scripted.ts";
import { can_run_svc, spawnSvc } from "../support/svc.ts";
import { filesWith } from "../support/traces.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const MARKER = "herons-nest-2207";
const PRICES = '[prices."local/model-1"]\ninput = 1\noutput = 1\n';
const write = { name: "write_file", args: { path: "made.txt", content: "kept\n" } };

interface Item {
  id: string;
  workdir: string;
  temporary?: true;
}

/** A scenario without a session, and a directory for `svc chat`. */
class Once implements AsyncDisposable {
  readonly cwd: string;

  private constructor(readonly it: Scenario) {
    this.cwd = it.place.mkdir("asked");
  }

  static async begin(steps: Parameters<typeof Scenario.begin>[0], toml = ""): Promise<Once> {
    return new Once(await Scenario.begin(steps, { toml }));
  }

  chat(...flags: string[]) {
    const args = ["chat", "-m", this.it.model, "--approve", "auto", ...flags];
    return this.it.place.svc(args, { cwd: this.cwd });
  }

  spawn(...flags: string[]): Deno.ChildProcess {
    const args = ["chat", this.cwd, "-m", this.it.model, "--approve", "auto", ...flags];
    return spawnSvc(this.it.place, args);
  }

  /** The sessions of the directory. */
  async sessions(): Promise<Item[]> {
    const params = { include_ended: true, include_archived: true };
    const { sessions } = await this.it.client.rpc.call("session.list", params);
    return sessions.filter(({ workdir }: Item) => workdir === this.cwd);
  }

  /** Asserts that nothing of a session is left, and that the directory has just these files. */
  async assertNothing(...files: string[]): Promise<void> {
    assertEquals(await this.sessions(), []);
    assertEquals([...Deno.readDirSync(this.cwd)].map(({ name }) => name).sort(), files);
    const index = JSON.parse(
      Deno.readTextFileSync(join(this.it.place.home, "sessions-index.json")),
    );
    assertEquals(Object.keys(index), [this.it.session_id]);
    const journals = [...Deno.readDirSync(join(this.it.place.home, "journals"))];
    assertEquals(journals.map(({ name }) => name), [this.it.session_id]);
    assertEquals(filesWith(this.it.place.dir, MARKER), []);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.it[Symbol.asyncDispose]();
  }
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

test("svc chat -p leaves the files that it changed and no session, and its cost counts", async () => {
  await using once = await Once.begin([{ calls: [write] }, { text: MARKER }], PRICES);
  const { it } = once;
  const before = (await it.client.rpc.call("cost.get_current")).usd;
  const { code, stdout, stderr } = await once.chat("-p", `say ${MARKER}`, "--output", "json");
  const { session_id, usage, result } = JSON.parse(stdout);
  assertEquals([code, stderr, result], [0, "", MARKER]);
  await once.assertNothing("made.txt");
  const gone = await it.place.svc(["ctl", "sessions", "get", session_id]);
  assertEquals(gone.code, 1);
  const found = await it.client.rpc.call("session.search", { query: MARKER });
  assertEquals(found.results, []);

  assert(usage.usd > 0);
  const close = (usd: number) => assert(Math.abs(usd - before - usage.usd) < 1e-9, String(usd));
  close((await it.client.rpc.call("cost.get_current")).usd);
  const { buckets } = await it.client.rpc.call("cost.get_history", { bucket: "day" });
  close(buckets.reduce((sum: number, { usd }: { usd: number }) => sum + usd, 0));
  for (const by of ["session", "model", "workdir"]) {
    const { total, groups, other } = await it.client.rpc.call("cost.breakdown", { by });
    close(total.usd);
    assertEquals(groups.map(({ key }: { key: string }) => key), by === "model" ? [it.model] : []);
    assertEquals(other?.usd, by === "model" ? undefined : total.usd);
  }
  await it.restart();
  close((await it.client.rpc.call("cost.get_current")).usd);
});

test("its end in any way deletes the session: an error, a limit, a signal, a closed pipe", async () => {
  const slow = { text: ["a ", "b ", "c "], pace_ms: 2_000 };
  await using once = await Once.begin((request) => {
    const said = JSON.stringify(request.messages);
    if (said.includes("fail")) return { status: { code: 400, message: "no" } };
    return said.includes("slow") ? slow : { calls: [write] };
  });
  const failed = await once.chat("-p", "fail");
  assertEquals(failed.code, 1, failed.stderr);
  await once.assertNothing();
  const limited = await once.chat("-p", "go", "--max-steps", "1");
  assertStringIncludes(limited.stderr, "budget");
  await once.assertNothing("made.txt");
  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    const asked = once.it.server.requests.length;
    const child = once.spawn("-p", "slow");
    await until(() => once.it.server.requests.length > asked, "the model is asked");
    child.kill(signal);
    const done = await child.output();
    assertEquals(done.code, code, new TextDecoder().decode(done.stderr));
    await once.assertNothing("made.txt");
  }
});

test("a question left open and a command in the background end with it", async () => {
  const marker = `97.${crypto.getRandomValues(new Uint16Array(1))[0]}`;
  const question = { question: "Which one?", options: [{ label: "a" }, { label: "b" }] };
  await using once = await Once.begin([
    { calls: [{ name: "run_command", args: { command: `sleep ${marker}`, background: true } }] },
    { calls: [{ name: "ask_user", args: question }] },
    { text: "Then a." },
  ]);
  const { code, stdout, stderr } = await once.chat("-p", "go");
  assertEquals([code, stdout], [0, "Then a.\n"]);
  assertStringIncludes(stderr, "nobody is there to answer");
  await once.assertNothing();
  assertEquals(processesWith(marker), []);
});

test("while it runs it is listed as temporary, and no face offers to go on with it", async () => {
  const slow = { text: ["a ", "b"], pace_ms: 3_000 };
  await using once = await Once.begin([slow]);
  const child = once.spawn("-p", "slow");
  await until(async () => (await once.sessions()).length === 1, "it has begun");
  assertEquals((await once.sessions())[0].temporary, true);
  const none = await once.chat("-c", "-p", "and now?");
  assertEquals(none.code, 1);
  assertStringIncludes(none.stderr, "-p keeps its session with --keep");
  assertEquals((await child.output()).code, 0);
  await once.assertNothing();
});

test("--keep keeps the session and says how to go on; --json and a named session keep it", async () => {
  await using once = await Once.begin(() => ({ text: "Yes." }));
  const kept = await once.chat("-p", "one", "--keep");
  assertEquals([kept.code, kept.stdout], [0, "Yes.\n"]);
  const [{ id, temporary }] = await once.sessions();
  assertEquals(temporary, undefined);
  assertEquals(
    kept.stderr,
    `svc: kept; \`svc chat --session ${id}\` goes on with the session\n`,
  );
  assertEquals((await once.chat("-c", "-p", "two")).stderr, "");
  assertEquals((await once.chat("--session", id, "-p", "three")).code, 0);
  const { messages } = await once.it.client.rpc.call("session.transcript", { session_id: id });
  const said = messages.filter((message: { role: string }) => message.role === "user");
  assertEquals(said.map(({ text }: { text: string }) => text), ["one", "two", "three"]);

  const [line] = (await once.chat("-p", "four", "--json")).stdout.split("\n");
  const { session_id } = JSON.parse(line);
  assertEquals((await once.sessions()).map(({ id }) => id), [id, session_id]);
  const { code, stderr } = await once.it.place.svc(["chat", "--keep"], { stdin: "" });
  assertEquals(code, 2);
  assertMatch(stderr, /no prompt|--keep needs a prompt/);
});

test("it is deleted although the directory is gone, and leaves what else is in .svc", async () => {
  await using once = await Once.begin([{ text: "One." }, { text: "Two." }]);
  const own = join(once.cwd, ".svc");
  const file = join(own, "svc.rules.toml");
  Deno.mkdirSync(own, { mode: 0o700 });
  Deno.writeTextFileSync(file, "");
  assertEquals((await once.chat("-p", "go")).code, 0);
  assert(exists(file) && !exists(join(own, "sessions")));
});
