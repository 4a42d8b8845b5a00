/** `svc chat -p` as scripts use it: what it prints, what stops it, and its exit codes. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TextLineStream } from "@std/streams";
import { join } from "@std/path";
import { type Line, LINES, type ResultLine } from "../../src/cli/chat_lines.ts";
import type { Answer } from "../support/model_servers.ts";
import { PROVIDERS, Scenario } from "../support/scripted.ts";
import { can_run_svc, spawnSvc } from "../support/svc.ts";

const ignore = !can_run_svc;
/** USD per million tokens. */
const PRICES = '[prices."local/model-1"]\ninput = 1\noutput = 1\n';

const list = (path = "."): Answer => ({
  text: "I look.",
  calls: [{ name: "list_dir", args: { path } }],
  usage: { input: 400_000, output: 100_000 },
});
const times = (count: number, answer: Answer): Answer[] => Array(count).fill(answer);

/** The lines of an output, each held against the schema of its type. */
function linesOf(stdout: string): Line[] {
  return stdout.trimEnd().split("\n").map((text) => {
    const line = JSON.parse(text) as Line;
    return LINES[line.type].schema().parse(line) as Line;
  });
}

function resultOf(stdout: string): ResultLine {
  const lines = linesOf(stdout);
  assertEquals(lines.length, 1);
  assert(lines[0].type === "result");
  return lines[0];
}

/** Runs `svc chat -p` in the session of a scenario. */
function ask(it: Scenario, prompt: string, ...flags: string[]) {
  return it.place.svc(["chat", "--session", it.session_id, "-p", prompt, ...flags]);
}

function writeSchema(it: Scenario, text: string): string {
  const path = join(it.place.dir, "schema.jsonc");
  Deno.writeTextFileSync(path, text);
  return path;
}

const SCHEMA = `{
  // A comment, as JSONC allows.
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": { "green": { "type": "boolean" }, "failing": { "type": "integer" } },
  "required": ["green"],
}`;

Deno.test({
  name: "--output json prints one object with the answer, its cost and its session",
  ignore,
  async fn() {
    await using it = await Scenario.begin([list(), { text: "Nothing there." }], { toml: PRICES });
    const { code, stdout, stderr } = await it.place.svc(
      ["chat", it.workdir, "-m", it.model, "-p", "look", "--output", "json", "--keep"],
    );
    assertEquals([code, stderr.split("\n").length], [0, 2]);
    const { duration_ms, session_id, usage, ...result } = resultOf(stdout);
    assert(duration_ms > 0);
    assertMatch(session_id!, /^sess_/);
    assertEquals(result, {
      type: "result",
      stop_reason: "ok",
      exit_code: 0,
      result: "Nothing there.",
      model: it.model,
      steps: 2,
      tool_calls: 1,
      denied: 0,
    });
    const { usage: recorded } = await it.place.svc([
      "ctl",
      "call",
      "session.get",
      JSON.stringify({ session_id }),
    ]).then(({ stdout }) => ({ usage: JSON.parse(stdout) }));
    assertEquals([usage.usd, usage.tokens_in], [recorded.cost_usd, recorded.tokens_in]);
    assert(usage.usd >= 0.5);
  },
});

Deno.test({
  name: "--output stream-json prints a line for each thing that happens, and the result last",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      list(),
      { calls: [{ name: "run_command", args: { command: "echo hi" } }] },
      { text: "Done." },
    ], { start: { approval: "ask" } });
    const { code, stdout, stderr } = await ask(it, "go", "--output", "stream-json");
    assertEquals(code, 0);
    assertStringIncludes(stderr, "denied, because nobody can be asked");
    const lines = linesOf(stdout);
    const types = lines.map(({ type }) => type).filter((type, n, all) => type !== all[n - 1]);
    assertEquals(types, [
      "init",
      "text",
      "tool_started",
      "tool_completed",
      "tool_started",
      "denied",
      "tool_completed",
      "text",
      "result",
    ]);
    assertEquals(lines[0], {
      type: "init",
      session_id: it.session_id,
      model: it.model,
      cwd: it.workdir,
    });
    const [denied] = lines.filter(({ type }) => type === "denied");
    assert(denied.type === "denied");
    assertStringIncludes(denied.hint, "--approve auto");
    const result = lines.at(-1) as ResultLine;
    assertEquals([result.result, result.tool_calls, result.denied], ["Done.", 2, 1]);
  },
});

for (
  const [name, flag, what] of [["SIGINT", 130, "cancelled"], [
    "SIGTERM",
    143,
    "terminated",
  ]] as const
) {
  Deno.test({
    name: `${name} cancels the turn, prints the result and exits ${flag}`,
    ignore: ignore || Deno.build.os === "windows",
    async fn() {
      await using it = await Scenario.begin([{ text: "One two three.", hang_after: 2 }]);
      const child = spawnSvc(it.place, [
        "chat",
        "--session",
        it.session_id,
        "-p",
        "go",
        "--output",
        "stream-json",
      ]);
      const stderr = new Response(child.stderr).text();
      let last = "";
      let sent = false;
      for await (const line of readLines(child.stdout)) {
        last = line;
        if (sent || JSON.parse(line).type !== "text") continue;
        sent = true;
        Deno.kill(child.pid, name);
      }
      const result = resultOf(last);
      assertEquals([result.stop_reason, result.exit_code], [what, flag]);
      assertEquals((await child.status).code, flag);
      assertStringIncludes(await stderr, `turn ${what}`);
      const { data } = await it.client.wait(({ type }) => type === "turn.completed");
      assertEquals(data.stop_reason, "cancelled");
    },
  });
}

Deno.test({
  name: "an answer that breaks off and is given again is printed once, whole",
  ignore,
  async fn() {
    const broken = { text: "The answer is forty-one or", cut_after: 4 };
    const whole = { text: "The answer is 42." };
    await using it = await Scenario.begin([
      { ...list(), text: "I look." },
      broken,
      whole,
      broken,
      whole,
    ]);
    const text = await ask(it, "go");
    assertEquals([text.code, text.stdout], [0, "I look.\n\nThe answer is 42.\n"]);
    const streamed = await ask(it, "go", "--output", "stream-json");
    const lines = linesOf(streamed.stdout);
    // The control: the half was told, and taken back.
    const types = lines.map((line) => line.type === "note" ? line.reason_code : line.type);
    assertEquals(
      types.slice(types.indexOf("text"), -1).filter((type, n, all) => type !== all[n - 1]),
      [
        "text",
        "model_retry",
        "text",
      ],
    );
    const last = lines.at(-1)!;
    assert(last.type === "result");
    assertEquals(last.result, "The answer is 42.");
  },
});

for (const form of ["stream-json", "text"]) {
  Deno.test({
    name: `a reader that leaves cancels the turn of --output ${form}, without an error message`,
    ignore: ignore || Deno.build.os === "windows",
    async fn() {
      // Text is held until its answer stands, so that a reader is missed at the end of one.
      const said = form === "text"
        ? [{ ...list(), text: "one\n" }, { ...list("./"), text: "two\n" }]
        : [];
      await using it = await Scenario.begin([
        ...said,
        { text: "word\n".repeat(20_000), pace_ms: 5 },
      ]);
      const child = spawnSvc(
        it.place,
        ["chat", "--session", it.session_id, "-p", "go", "--output", form],
      );
      const stderr = new Response(child.stderr).text();
      for await (const _ of readLines(child.stdout)) break;
      assertEquals((await child.status).code, 141);
      assertEquals(await stderr, "");
      const { data } = await it.client.wait(({ type }) => type === "turn.completed");
      assertEquals(data.stop_reason, "cancelled");
    },
  });
}

Deno.test({
  name: "--max-steps and --max-usd end the run with the stop reason budget and exit code 3",
  ignore,
  async fn() {
    await using it = await Scenario.begin(
      [list(), list("./"), list(), { text: "Done." }],
      { toml: PRICES },
    );
    const steps = await ask(it, "go", "--output", "json", "--max-steps", "2");
    const by_steps = resultOf(steps.stdout);
    assertEquals([steps.code, by_steps.stop_reason, by_steps.steps], [3, "budget", 2]);
    assertMatch(by_steps.error!, /limit of 2 steps/);
    const usd = await ask(it, "go", "--output", "json", "--max-usd", "0.25");
    const by_usd = resultOf(usd.stdout);
    assertEquals([usd.code, by_usd.stop_reason, by_usd.steps], [3, "budget", 1]);
    assertMatch(by_usd.error!, /limit of \$0.25/);
    assertStringIncludes(usd.stderr, "turn budget: the limit of $0.25");
    assertEquals((await ask(it, "go")).code, 0);
  },
});

Deno.test({
  name: "a session whose budget is spent ends the run with exit code 3",
  ignore,
  async fn() {
    await using it = await Scenario.begin([list(), { text: "Done." }], {
      toml: PRICES,
      start: { budget_usd: 0.1 },
    });
    assertEquals((await ask(it, "go")).code, 3);
    const { code, stdout } = await ask(it, "go", "--output", "json");
    assertEquals([code, resultOf(stdout).stop_reason], [3, "budget"]);
  },
});

Deno.test({
  name: "the exit code and the result of -p say how the turn ended",
  ignore,
  async fn() {
    const cases: [Answer[], string, number][] = [
      [[{ status: { code: 400, message: "no such thing" } }], "error", 1],
      [times(4, { text: "more ", stop: "length" }), "length", 4],
      [[{ text: "I", stop: "filter" }], "filtered", 5],
      [[{ text: "No.", stop: "refusal" }], "refused", 6],
      [times(2, { text: "" }), "empty", 7],
      [times(5, { calls: [{ name: "list_dir", args: { path: "." } }] }), "loop", 8],
    ];
    for (const [answers, stop_reason, exit_code] of cases) {
      await using it = await Scenario.begin(answers);
      const { code, stdout } = await ask(it, "go", "--output", "json");
      const result = resultOf(stdout);
      assertEquals([result.stop_reason, result.exit_code, code], [
        stop_reason,
        exit_code,
        exit_code,
      ]);
    }
  },
});

Deno.test({
  name: "a run that cannot begin prints a result too, and wrong usage sends nothing",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "Done." }]);
    const chat = (...flags: string[]) => it.place.svc(["chat", it.workdir, ...flags]);
    const unknown = await chat("-p", "go", "-m", "nobody/none", "--output", "json");
    assertEquals(unknown.code, 1);
    const result = resultOf(unknown.stdout);
    assertEquals([result.stop_reason, result.session_id], ["error", undefined]);
    assertStringIncludes(unknown.stderr, result.error!);
    const wrong: [string[], string][] = [
      [["-p", "go", "--output", "yaml"], "text, json or stream-json"],
      [["-p", "go", "--output", "json", "--json"], "cannot be used together"],
      [["-p", "go", "--max-usd", "0"], "an amount in USD"],
      [["-p", "go", "--max-steps", "0"], "a number from 1"],
      [["-p", "-"], "no prompt"],
      [["-p", "go", "--schema", "missing.json"], "there is no such file"],
      [["-p", "go", "--schema", writeSchema(it, "{")], "is not JSON"],
    ];
    for (const [flags, message] of wrong) {
      const { code, stdout, stderr } = await chat(...flags);
      assertEquals([code, stdout], [2, ""], stderr);
      assertStringIncludes(stderr, message);
    }
    const no_schema = await chat("-p", "go", "--schema", writeSchema(it, '{"type": "text"}'));
    assertEquals(no_schema.code, 2);
    assertStringIncludes(no_schema.stderr, "is not a JSON Schema");
    const later = '{"properties": {"prefixItems": {"items": {"prefixItems": []}}}}';
    const too_new = await chat("-p", "go", "--schema", writeSchema(it, later));
    assertEquals(too_new.code, 2);
    assertStringIncludes(too_new.stderr, "uses prefixItems, which draft 7");
    assertEquals(it.server.requests.length, 0);
  },
});

for (const provider of PROVIDERS) {
  Deno.test({
    name: `--schema has ${provider} answer again until the answer fits`,
    ignore,
    async fn() {
      await using it = await Scenario.begin([
        { text: "I would say it is green." },
        { text: '{"green": "yes", "failing": 0.5}' },
        { text: '```json\n{"green": true}\n```' },
        { text: '{"green": false, "failing": 2}' },
      ], { provider });
      const schema = writeSchema(it, SCHEMA);
      const { code, stdout } = await ask(it, "green?", "--schema", schema, "--output", "json");
      const result = resultOf(stdout);
      assertEquals([code, result.value, result.steps], [0, { green: true }, 3]);
      assertEquals(result.schema_problems, undefined);
      const sent = it.server.requests.map(({ body }) => JSON.stringify(body.messages.at(-1)));
      assertStringIncludes(sent[0], "JSON Schema");
      assertStringIncludes(sent[1], "the answer is not JSON");
      assertStringIncludes(sent[2], "/green must be boolean");
      assertStringIncludes(sent[2], "/failing must be integer");
      const plain = await ask(it, "green?", "--schema", schema);
      assertEquals(plain.code, 0, plain.stderr);
      assertEquals(JSON.parse(plain.stdout), { green: false, failing: 2 });
    },
  });

  Deno.test({
    name: `--schema asks ${provider} twice more at most, then exits 12 with answer and problems`,
    ignore,
    async fn() {
      await using it = await Scenario.begin(times(6, { text: '{"failing": 1}' }), { provider });
      const schema = writeSchema(it, SCHEMA);
      const { code, stdout, stderr } = await ask(it, "green?", "--schema", schema);
      assertEquals([code, stdout, it.server.requests.length], [12, "", 3]);
      assertStringIncludes(stderr, "must have required property 'green'");
      assertStringIncludes(stderr, '{"failing": 1}');
      const streamed = await ask(it, "g?", "--schema", schema, "--output", "stream-json");
      const lines = linesOf(streamed.stdout);
      assertEquals(lines.filter(({ type }) => type === "asked_again").length, 2);
      const { stop_reason, schema_problems, value } = lines.at(-1) as ResultLine;
      assertEquals([streamed.code, stop_reason, value], [12, "schema", { failing: 1 }]);
      assertMatch(schema_problems!.join(), /required property 'green'/);
    },
  });
}

Deno.test({
  name: "--max-steps counts the steps of all attempts of --schema",
  ignore,
  async fn() {
    await using it = await Scenario.begin(times(3, { text: "no" }));
    const schema = writeSchema(it, SCHEMA);
    const { code, stdout } = await ask(
      it,
      "green?",
      "--schema",
      schema,
      "--output",
      "json",
      "--max-steps",
      "2",
    );
    const { stop_reason, schema_problems } = resultOf(stdout);
    assertEquals([code, stop_reason, it.server.requests.length], [3, "budget", 2]);
    assertEquals(schema_problems?.length, 1);
  },
});

Deno.test({
  name: "-p - reads the prompt from standard input, and --session continues a paused session",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "One." }, { text: "Two." }]);
    const args = ["chat", "--session", it.session_id];
    const dash = await it.place.svc([...args, "-p", "-"], { stdin: "the prompt\n" });
    assertEquals(dash, { code: 0, stdout: "One.\n", stderr: "" });
    assertEquals(it.client.of("user.message")[0].data.text, "the prompt");
    await it.call("session.pause");
    const piped = await it.place.svc(args, { stdin: "again" });
    assertEquals(piped, { code: 0, stdout: "Two.\n", stderr: "" });
  },
});

function readLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<string> {
  return stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
}
