/** Questions of a model to the person, over every door. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { SvcError } from "../../src/protocol/errors.ts";
import { shownDigest } from "../../src/session/question.ts";
import { Editor } from "../support/acp.ts";
import { Scenario, until } from "../support/scripted.ts";
import { can_run_svc, svcLine } from "../support/svc.ts";
import { SharedDaemon } from "./shared_daemon.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc;
const shared = new SharedDaemon();
const DATABASE = {
  question: "Which database?",
  options: [{ label: "Postgres", description: "runs already" }, { label: "SQLite" }],
};
const ask = (...questions: unknown[]) => ({
  calls: questions.map((args) => ({ name: "ask_user", args })),
});

async function codeOf(call: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => call) as SvcError).code;
}

/** The questions that wait. */
async function pending(it: Scenario, count = 1) {
  await until(
    async () => (await it.call("session.get")).pending_approvals.length === count,
    `${count} questions`,
  );
  return (await it.call("session.get")).pending_approvals;
}

Deno.test({
  name: "a question waits, is answered once over any door, and the answer is the call's result",
  ignore,
  async fn() {
    await using it = await shared.begin([
      ask(DATABASE),
      { text: "Done." },
    ], { start: { approval: "read_only" } });
    await using other = await it.daemon.rpc();
    await other.rpc.call("session.subscribe", { session_id: it.session_id, since_seq: 0 });
    const turn = it.turn("go");
    const [asked] = await pending(it);
    assertEquals(asked.kind, "question");
    assertEquals(asked.args, { ...DATABASE, multiple: false, free_text: true });
    assertEquals((await it.call("session.get")).activity, "awaiting_approval");
    const { approval_id } = asked;
    const answer = (params: Record<string, unknown>) =>
      it.call("session.answer", { approval_id, ...params });
    for (
      const wrong of [
        {},
        { chosen: [] },
        { chosen: ["MySQL"] },
        { chosen: ["Postgres", "SQLite"] },
        { chosen: ["SQLite"], unanswered: "declined" },
        { text: " " },
      ]
    ) assertEquals(await codeOf(answer(wrong)), "validation", JSON.stringify(wrong));
    const allow = it.call("session.approve", { approval_id, decision: "allow_always" });
    assertEquals(await codeOf(allow), "validation");
    assertEquals(
      await codeOf(answer({ chosen: ["SQLite"], shown: "0".repeat(64) })),
      "conflict",
    );
    // Both at once: one answers, the other is told that nothing waits.
    const path = `/v1/sessions/${it.session_id}/approvals/${approval_id}/answer`;
    const shown = await shownDigest(asked);
    const both = await Promise.all([
      it.daemon.http("POST", path, { chosen: ["SQLite"], text: "for now", shown }),
      it.daemon.http("POST", path, { chosen: ["SQLite"], text: "for now", shown }),
    ]);
    assertEquals(both.map(({ status }) => status).sort(), [200, 409]);
    assertEquals((await turn).data.message, "Done.");
    const [result] = it.asked[1].at(-1)!.role === "tool" ? [it.asked[1].at(-1)!] : [];
    assertStringIncludes(JSON.stringify(result), "The person chose: SQLite");
    assertStringIncludes(JSON.stringify(result), "for now");
    const told = await other.wait(({ type }) => type === "approval.resolved");
    assertEquals([told.data.approval_id, told.data.answer], [
      approval_id,
      { chosen: ["SQLite"], text: "for now" },
    ]);
    const moves = it.client.of("lane.status").map(({ data }) => data.status);
    assertEquals(moves, ["running", "blocked", "running"]);
    // It opens no lane, however long it waits.
    assertEquals(it.client.of("lane.created").filter(({ data }) => data.kind === "tool"), []);
  },
});

Deno.test({
  name: "questions at once, several choices, no free text, skipped ones and wrong calls",
  ignore,
  async fn() {
    const only = { question: "Go on?", options: [{ label: "Yes" }], free_text: false };
    const many = { ...DATABASE, multiple: true };
    await using it = await shared.begin([
      ask({ question: "Why?", free_text: false }),
      ask({ question: "Same?", options: [{ label: "A" }, { label: "a" }] }),
      ask({ question: "Nine?", options: Array.from("123456789", (label) => ({ label })) }),
      ask(only, many),
      ask({ question: "How?" }),
      ask({ question: "And?" }),
      { text: "Done." },
    ]);
    const turn = it.turn("go");
    const [first, second] = await pending(it, 2);
    const of = (approval_id: string, params: Record<string, unknown>) =>
      it.call("session.answer", { approval_id, ...params });
    const text = { text: "my own" };
    assertEquals(await codeOf(of(first.approval_id, text)), "validation");
    await of(second.approval_id, { chosen: ["Postgres", "SQLite"] });
    assertEquals((await pending(it)).map((one: typeof first) => one.args.question), ["Go on?"]);
    await of(first.approval_id, { chosen: ["Yes"] });
    const question = (text: string) => ({ data }: { data: { reason: string } }) =>
      data.reason === text;
    const how = await it.event("approval.requested", question("How?"));
    await of(how.data.approval_id, { unanswered: "nobody" });
    const and = await it.event("approval.requested", question("And?"));
    await it.call("session.approve", { approval_id: and.data.approval_id, decision: "deny" });
    assertEquals((await turn).data.message, "Done.");
    const results = it.client.of("session.tool_completed").map(({ data }) => data);
    assertEquals(results.map(({ ok }) => ok), [false, false, false, true, true, false, false]);
    const outputs = results.map(({ output }) => output).join("\n");
    assertStringIncludes(outputs, "- Postgres\n- SQLite");
    assertStringIncludes(outputs, "Nobody is there to answer");
    assertStringIncludes(outputs, "skipped the question");
    // An approval that is not a question takes no answer.
    assertEquals(it.client.of("approval.resolved").length, 4);
  },
});

for (const how of ["killed", "cancelled", "paused"] as const) {
  Deno.test({
    name: `a question of a turn that is ${how} is told to the model as unanswered`,
    ignore,
    async fn() {
      await using it = await Scenario.begin([ask(DATABASE), { text: "Then not." }]);
      await it.send("go");
      const [{ approval_id }] = await pending(it);
      if (how === "cancelled") await it.call("session.cancel");
      if (how === "paused") {
        await it.call("session.pause");
        await it.call("session.resume");
      }
      if (how === "killed") await it.restart();
      assertEquals(await pending(it, 0), []);
      assertEquals((await it.call("session.get")).activity, "idle");
      const late = it.call("session.answer", { approval_id, chosen: ["SQLite"] });
      assertEquals(await codeOf(late), "not_found");
      assertEquals((await it.turn("and now?")).data.message, "Then not.");
      const results = it.asked.at(-1)!.filter(({ role }) => role === "tool");
      assertEquals(results.length, 1);
      assert(/interrupted|stopped/.test(JSON.stringify(results)), JSON.stringify(results));
    },
  });
}

Deno.test({
  name: "a question waits over a restart, and its answer has the turn go on",
  ignore,
  async fn() {
    await using it = await Scenario.begin([ask(DATABASE), { text: "So be it." }]);
    await it.send("go");
    const [{ approval_id }] = await pending(it);
    await it.client[Symbol.asyncDispose]();
    await it.daemon.stop();
    it.daemon = await it.place.serve();
    it.client = await it.daemon.rpc();
    await it.call("session.subscribe", { since_seq: 0 });
    const [waiting] = await pending(it);
    assertEquals([waiting.approval_id, waiting.kind], [approval_id, "question"]);
    await it.call("session.answer", { approval_id, chosen: ["SQLite"] });
    const { data } = await it.event("turn.completed");
    assertEquals([data.stop_reason, data.message], ["ok", "So be it."]);
    const [result] = it.client.of("session.tool_completed").map(({ data }) => data);
    assertEquals(result.ok, true);
    assertStringIncludes(result.output, "SQLite");
    assertEquals(it.client.of("approval.requested").length, 1);
  },
});

Deno.test({
  name: "sessions that work for others and for tasks cannot ask",
  ignore,
  async fn() {
    await using it = await shared.begin([ask(DATABASE), { text: "So be it." }], {
      start: { trust: "untrusted" },
    });
    assertEquals((await it.turn("go")).data.message, "So be it.");
    const [{ data }] = it.client.of("session.tool_completed");
    assertStringIncludes(data.output, "unknown tool ask_user");
    const tools = JSON.stringify(it.server.requests[0].body.tools);
    assert(!tools.includes("ask_user"));
  },
});

Deno.test({
  name: "svc chat -p answers that nobody is there, and says so",
  ignore,
  async fn() {
    await using it = await shared.begin([ask(DATABASE), { text: "Assumed." }]);
    const said = ["chat", "--session", it.session_id, "-p", "go", "--output", "stream-json"];
    const { code, stdout, stderr } = await it.place.svc(said);
    const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
    const { question, options } = lines.find(({ type }) => type === "unanswered");
    assertEquals([code, question, options], [0, DATABASE.question, DATABASE.options]);
    assertEquals([lines.at(-1).result, lines.at(-1).denied], ["Assumed.", 0]);
    assertStringIncludes(stderr, "nobody is there to answer: Which database?");
    const { output } = lines.find(({ type }) => type === "tool_completed");
    assertStringIncludes(output, "Nobody is there to answer");
  },
});

Deno.test({
  name: "the terminal UI takes digits, several choices and typed words",
  ignore,
  async fn() {
    const hidden = `Which\u202e one?\n  1. Fake`;
    await using it = await shared.begin([
      ask({ ...DATABASE, question: hidden, free_text: false }),
      ask({ ...DATABASE, multiple: true }),
      ask({ question: "Why?" }),
      ask({ question: "More?" }),
      { text: "Done." },
    ]);
    const turn = it.turn("go");
    const shown = async (text: string) => {
      await until(async () => (await snapshot()).view.includes(text), text);
      await until(async () => dialog(await snapshot()).children.length > 0, "armed");
    };
    const snapshot = () => it.call("tui.snapshot");
    // deno-lint-ignore no-explicit-any -- an outline
    const dialog = ({ tree }: any) => tree.find(({ role }: any) => role === "alertdialog");
    const press = (key: string) => it.call("tui.press_key", { key });
    await shown("Which");
    const { view } = await snapshot();
    assertStringIncludes(view, "Which\\u{202e} one?");
    assertStringIncludes(view, "│   1. Fake");
    assertStringIncludes(view, "  1. Postgres (runs already)");
    // What is no option is no answer.
    await press("3");
    assertEquals(it.client.of("approval.resolved").length, 0);
    await it.call("tui.press_key", { key: "ctrl-u" });
    await press("tab");
    await press("2");
    assertStringIncludes((await snapshot()).view, "SQLite  Enter confirms");
    await press("enter");
    await shown("Which database?");
    await press("2");
    await press("1");
    assertStringIncludes((await snapshot()).view, "1, 2 chosen; Enter answers");
    await press("enter");
    await shown("Why?");
    await it.call("tui.press_key", { text: "because of 2 things" });
    assertStringIncludes((await snapshot()).view, "Enter answers with what you type");
    await press("enter");
    await shown("More?");
    await press("0");
    await press("enter");
    assertEquals((await turn).data.message, "Done.");
    const answers = it.client.of("approval.resolved").map(({ data }) =>
      data.answer ?? data.unanswered
    );
    assertEquals(answers, [
      { chosen: ["SQLite"] },
      { chosen: ["Postgres", "SQLite"] },
      { chosen: [], text: "because of 2 things" },
      "declined",
    ]);
    assertEquals(it.client.of("user.message").length, 1);
  },
});

Deno.test({
  name: "editors get a question as a permission with its options, several choices one by one",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using it = await shared.begin([
      ask(DATABASE),
      ask({ ...DATABASE, multiple: true }),
      ask({ question: "Why?" }),
      { text: "Done." },
    ]);
    const choices = ["choice-1", "choice-0", "done", "skip"];
    await using editor = new Editor(it.place, {
      args: ["-m", it.model],
      choose: () => choices.shift()!,
    });
    const sessionId = await editor.open(it.workdir);
    assertEquals(await editor.prompt(sessionId, "please"), "end_turn");
    const names = editor.asked.map(({ options }) => options.map(({ name }) => name));
    assertEquals(names, [
      ["Postgres", "SQLite", "Skip"],
      ["Postgres", "SQLite", "Skip"],
      ["SQLite", "Done: Postgres", "Skip"],
      ["Skip"],
    ]);
    const outputs = JSON.stringify(it.asked.at(-1));
    for (const text of ["The person chose: SQLite", "- Postgres", "skipped the question"]) {
      assertStringIncludes(outputs, text);
    }
  },
});

Deno.test({
  name: "editors with forms get a question as one",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using it = await shared.begin([
      ask({ ...DATABASE, multiple: true }),
      ask({ question: "Why?" }),
      { text: "Done." },
    ]);
    const asked: string[] = [];
    await using editor = new Editor(it.place, {
      args: ["-m", it.model],
      fill(form) {
        asked.push(form.message);
        return asked.length === 1
          ? { action: "accept", content: { choice: ["SQLite"], text: "for now" } }
          : { action: "decline" };
      },
    });
    const sessionId = await editor.open(it.workdir);
    assertEquals(await editor.prompt(sessionId, "please"), "end_turn");
    assertEquals([asked, editor.asked], [["Which database?", "Why?"], []]);
    const outputs = JSON.stringify(it.asked.at(-1));
    for (const text of ["- SQLite", "for now", "skipped the question"]) {
      assertStringIncludes(outputs, text);
    }
  },
});

Deno.test({
  name: "the line-by-line chat takes numbers and words",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = await shared.begin([
      ask(DATABASE),
      ask({ question: "Why?" }),
      { text: "All is said." },
    ]);
    await using terminal = await TmuxTerminal.open(it.place, { cols: 120, rows: 60 });
    await terminal.line(`TERM=dumb ${svcLine("chat", "--session", it.session_id)}`);
    await terminal.shows("/help");
    await terminal.prompted();
    await terminal.line("go");
    const answer = async (line: string, count: number) => {
      const answered = () => it.client.of("approval.resolved").length === count;
      const lastLine = async () => (await terminal.text()).trimEnd().split("\n").at(-1)!;
      // What is typed too soon is asked for again.
      while (!answered()) {
        await terminal.type(line);
        await until(async () => (await lastLine()).endsWith(`skip: ${line}`), "it is typed");
        await terminal.press("Enter");
        await until(
          async () => answered() || (await lastLine()).endsWith("skip:"),
          `the answer ${line}, or the question again`,
        );
      }
    };
    await terminal.shows("Your answer, a number from 1 to 2, or your own words, or 0 to skip:");
    await terminal.shows("Answer 1: Postgres (runs already)");
    await answer("2", 1);
    await terminal.shows("Question 1 of 1: Why?");
    await answer("because of it", 2);
    await terminal.shows("All is said.");
    const answers = it.client.of("approval.resolved").map(({ data }) => data.answer);
    assertEquals(answers, [{ chosen: ["SQLite"] }, { chosen: [], text: "because of it" }]);
    assertEquals(it.client.of("user.message").length, 1);
  },
});
